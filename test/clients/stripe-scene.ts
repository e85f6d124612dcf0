/** One sidecar before a stub of Stripe behind TLS, and Stripe clients that go through it; shared by a file's tests. */
import fs from 'node:fs'
import path from 'node:path'
import Stripe from 'stripe'
import { afterAll, beforeEach } from 'vitest'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { type Settings, Sidecar } from '../support/sidecar.ts'
import type { Answer } from '../support/upstream-exchange.ts'
import { type Claim, FencingHttpClient } from './stripe-http-client.ts'

const TLS = path.join(import.meta.dirname, '../support/tls')
const CA = path.join(TLS, 'cert.pem')

export interface StripeScene {
  readonly provider: RecordingUpstream
  readonly sidecar: Sidecar
  /** A client whose HTTP client adds this claim, read anew for each attempt. */
  readonly client: (claim: () => Claim, config?: Stripe.StripeConfig) => Stripe
  /** The SDK as it comes, pointed at the sidecar. */
  readonly plain: (config?: Stripe.StripeConfig) => Stripe
  /** How often the sidecar decided so, since it started. */
  readonly decided: (decision: string) => Promise<number>
}

/** Called at the top of a test file. The provider's record is fresh in each test. */
export async function stripeScene(config: Settings = {}, route: Settings = {}): Promise<StripeScene> {
  const provider = await RecordingUpstream.start({
    tls: {
      key: fs.readFileSync(path.join(TLS, 'key.pem'), 'utf8'),
      cert: fs.readFileSync(CA, 'utf8'),
    },
  })
  const sidecar = await Sidecar.start({
    upstream: provider.url,
    config: {
      upstream: { tls: { ca: CA } },
      routes: [{ name: 'stripe', match: { path: '/v1/*' }, forwardClaim: false, ...route }],
      ...config,
    },
  })
  beforeEach(() => {
    provider.forget()
    provider.script = async (exchange) => {
      if (await exchange.wholeBody()) await exchange.answer(INTENT)
    }
  })
  afterAll(() => provider.close())
  const plain: StripeScene['plain'] = (config) =>
    new Stripe('sk_test_fence', { protocol: 'http', host: '127.0.0.1', port: sidecar.port, ...config })
  return {
    provider,
    sidecar,
    plain,
    client: (claim, config) => plain({ httpClient: new FencingHttpClient(claim), ...config }),
    decided: async (decision) =>
      (await sidecar.metrics()).sum('fencegate_decisions_total', { route: 'stripe', decision }),
  }
}

export const json = (status: number, body: object, headers: Answer['headers'] = []): Answer => ({
  status,
  headers: [['content-type', 'application/json'], ['request-id', 'req_stub'], ...headers],
  body: JSON.stringify(body),
})

const INTENT = json(200, { id: 'pi_1', object: 'payment_intent', amount: 4200, currency: 'eur' })

/** An error as Stripe gives it. */
export const stripeError = (status: number, message: string, headers: Answer['headers'] = []) =>
  json(status, { error: { type: 'api_error', message } }, headers)
