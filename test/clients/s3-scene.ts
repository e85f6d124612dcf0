/** One sidecar before one stub of S3, and S3 clients that go through it; shared by a file's tests. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { afterAll, beforeEach } from 'vitest'
import { type Settings, Sidecar } from '../support/sidecar.ts'
import { CREDENTIALS, REGION } from './s3-signature.ts'
import { S3Stub } from './s3-stub.ts'

export interface S3Scene {
  readonly stub: S3Stub
  readonly sidecar: Sidecar
  /** A client that claims the task with the token in every request, or claims nothing. */
  readonly client: (task?: string, token?: number, options?: ClientOptions) => S3Client
  /** How often the sidecar decided so, since it started. */
  readonly decided: (decision: string) => Promise<number>
}

export interface ClientOptions extends S3ClientConfig {
  /** Whether the claim is added before the signature is made, and so is part of it. */
  readonly signClaim?: boolean
}

const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

/** Called at the top of a test file. The stub's record is fresh in each test; its objects are not. */
export async function s3Scene(config: (stub: S3Stub) => Settings = () => ({})): Promise<S3Scene> {
  const stub = await S3Stub.start()
  const sidecar = await Sidecar.start({
    upstream: stub.url,
    // The client signs the Host that it sends, which is the sidecar's.
    config: { upstream: { host: 'preserve' }, ...config(stub) },
  })
  const clients: S3Client[] = []
  beforeEach(() => stub.forget())
  afterAll(async () => {
    for (const client of clients) client.destroy()
    await stub.close()
  })
  const client: S3Scene['client'] = (task, token, { signClaim = false, ...options } = {}) => {
    const client = new S3Client({
      endpoint: `http://127.0.0.1:${sidecar.port}`,
      region: REGION,
      credentials: CREDENTIALS,
      forcePathStyle: true,
      logger: SILENT,
      ...options,
    })
    if (task !== undefined) addClaim(client, { 'Fencing-Task': task, 'Fencing-Token': `${token}` }, signClaim)
    clients.push(client)
    return client
  }
  const decided = async (decision: string) =>
    (await sidecar.metrics()).sum('fencegate_decisions_total', { decision })
  return { stub, sidecar, client, decided }
}

/** The place of a middleware that sees what is signed already, at each attempt. */
export const AFTER_SIGNING = { step: 'finalizeRequest', priority: 'low' } as const

/** The SDK's own way to add header fields: a middleware. */
function addClaim(client: S3Client, claim: Readonly<Record<string, string>>, sign: boolean): void {
  const claimed = <Args extends { request: unknown }>(args: Args): Args => {
    Object.assign((args.request as { headers: object }).headers, claim)
    return args
  }
  const { middlewareStack } = client
  if (sign) middlewareStack.add((next) => (args) => next(claimed(args)), { step: 'build', name: 'claim' })
  else middlewareStack.add((next) => (args) => next(claimed(args)), { ...AFTER_SIGNING, name: 'claim' })
}
