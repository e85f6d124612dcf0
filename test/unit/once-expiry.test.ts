/** How old the provider's key of an operation is, by a wall clock that is set forward and back. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { OnceRule, Route } from '../../src/config/config.ts'
import type { Refusal } from '../../src/errors.ts'
import type { Permit } from '../../src/gate/permit.ts'
import { attemptOnce, type OnceRequest } from '../../src/proxy/once.ts'
import { FakeExchange, FakeRequest } from '../support/faulty-exchange.ts'
import { GateRig } from '../support/store-and-gate.ts'

const HOUR_MS = 3_600_000
const RULE = {
  ...{ scope: 'default', repeatUnknown: 'send', keyLifetimeMs: 24 * HOUR_MS, expired: 'refuse' },
  ...{ finalStatuses: [], keepHeaders: [], keepBodyBytes: 0, redact: [], maxBodyBytes: 100 },
  ...{ providerKey: 'forward', retentionMs: 24 * HOUR_MS },
} as const satisfies OnceRule

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1000 * HOUR_MS })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Attempts the one operation of the rig, which ends as said if it is sent; or says why it was not. */
async function attempt(rig: GateRig, rule: OnceRule, end: 'failed' | 'unknown'): Promise<string> {
  const req = new FakeRequest('/charges', 'key')
  req.arrive()
  const { promise, resolve } = Promise.withResolvers<string>()
  const exchange = new FakeExchange(req, {
    refused: ({ code }: Refusal) => resolve(code),
    replayed: () => resolve('replayed'),
  })
  const request = {
    ...{ exchange, rule, claim: { task: 'k', token: 5n }, key: 'key', sealing: undefined, storeTimeoutMs: 1 },
    route: { name: 'charges', unknownStatuses: [] } as unknown as Route,
    facts: { route: 'charges', method: 'POST', target: '/charges', operation: 'key' },
    writeRule: { handover: 'drain', holds: false, intent: false, standing: false },
    limits: { silenceMs: 2 ** 30, bytesPerSecond: 0, bodySize: 100 },
    send: (permit: Permit) => {
      permit.begin()
      const answer = { status: 500, final: false, recorded: undefined }
      if (end === 'failed') permit.release({ outcome: 'answered', answer })
      else permit.release({ outcome: 'unknown', reason: 'timeout', bytesSent: 2 })
      resolve('sent')
    },
  } as unknown as OnceRequest
  const handled = attemptOnce(rig.gate, request)
  let done = false
  void promise.then(() => {
    done = true
  })
  while (!done) await rig.serve()
  await handled
  await rig.serveAll()
  return promise
}

test.each([
  ['failed', 'operation-expired'],
  ['unknown', 'operation-unknown'],
] as const)(
  'a repeat of an operation that is %s is sent while its key is young, and not after',
  async (end, refused) => {
    const rig = new GateRig({ marks: { k: { token: 5n, complete: true } } })
    const first = Date.now()
    expect(await attempt(rig, RULE, end)).toBe('sent')
    for (const [afterMs, becomes] of [
      [24 * HOUR_MS - 1, 'sent'],
      [24 * HOUR_MS, refused],
      [-5_000, 'sent'], // A clock is set right now and then.
      [-HOUR_MS, refused], // Whoever sets it back so far can't say how old the key is.
      [0, 'sent'],
    ] as const) {
      vi.setSystemTime(first + afterMs)
      expect(await attempt(rig, RULE, end), `${afterMs} ms after`).toBe(becomes)
    }
  },
)

test('where an expired key may be sent, only an operation whose outcome is known is', async () => {
  const rule = { ...RULE, expired: 'send' } as const
  const rig = new GateRig({ marks: { k: { token: 5n, complete: true } } })
  expect(await attempt(rig, rule, 'failed')).toBe('sent')
  vi.setSystemTime(Date.now() + 48 * HOUR_MS)
  expect(await attempt(rig, rule, 'unknown')).toBe('sent')
  expect(await attempt(rig, rule, 'unknown')).toBe('operation-unknown')
})
