/** What most http tests begin with: one sidecar before one recording upstream, shared by a file's tests. */
import { afterAll, beforeEach, expect } from 'vitest'
import { exchange, type RawAnswer, RawClient, type RawRequest } from './raw-client.ts'
import { RecordingUpstream } from './recording-upstream.ts'
import { type Settings, Sidecar, type SidecarOptions } from './sidecar.ts'

export interface Scene {
  readonly upstream: RecordingUpstream
  readonly sidecar: Sidecar
  /** One request on a connection of its own. */
  readonly send: (request: RawRequest, ms?: number) => Promise<RawAnswer>
  readonly connect: () => Promise<RawClient>
  /** The sum of a metric's samples with these labels. */
  readonly metric: (name: string, labels?: Record<string, string>) => Promise<number>
}

/** Called at the top of a test file. The upstream's record is fresh in each test; sidecar and store are not. */
export async function scene(
  config: Settings = {},
  options: Omit<SidecarOptions, 'upstream' | 'config'> = {},
): Promise<Scene> {
  const upstream = await RecordingUpstream.start()
  beforeEach(() => upstream.forget())
  afterAll(() => upstream.close())
  const sidecar = await Sidecar.start({ upstream: upstream.url, config, ...options })
  return {
    upstream,
    sidecar,
    send: (request, ms) => exchange(sidecar.port, request, ms),
    connect: () => RawClient.connect(sidecar.port),
    metric: async (name, labels) => (await sidecar.metrics()).sum(name, labels),
  }
}

/** A request that claims `task` with `token`; a PUT of `{}` to `/x` unless it says otherwise. */
export function claim(task: string, token: number | bigint | string, request: RawRequest = {}): RawRequest {
  const headers = [
    ['Fencing-Task', task],
    ['Fencing-Token', String(token)],
    ...(request.headers ?? []),
  ] as const
  return { body: '{}', ...request, headers }
}

/** The body of a refusal. */
export interface Problem {
  readonly [field: string]: unknown
}

/** Expects a refusal of the sidecar's own and returns its body. */
export function refusal(answer: RawAnswer, status: number, code: string): Problem {
  expect([answer.status, answer.body.text]).toEqual([status, expect.stringContaining(`"${code}"`)])
  expect(answer.values('content-type')).toEqual(['application/problem+json'])
  expect(answer.values('proxy-status')).toEqual([
    expect.stringMatching(new RegExp(`^fencegate; ?error=[a-z_]+; ?details="${code}"$`)),
  ])
  const problem = JSON.parse(answer.body.text) as Problem
  expect(problem).toMatchObject({ status, code, title: expect.any(String), detail: expect.any(String) })
  return problem
}
