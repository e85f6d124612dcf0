/**
 * Attempts while the store is slow, or its disk full: nothing is sent that is not on record, no answer is given that
 * is not, and every client is told something in time.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import { exchange, type RawAnswer, type RawRequest } from '../support/raw-client.ts'
import { refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'
import { sha256 } from '../support/wire.ts'

const config = {
  store: { timeout: '300ms' },
  handoverTimeout: '1s',
  routes: [{ name: 'charges', guard: 'once', match: { path: '/v1/{task}/*' }, once: { keepBody: '1KiB' } }],
}
const commits = new Commits()
const { upstream, send, sidecar, metric } = await scene(config, commits.options)

const faults: [string, () => void][] = [
  ['is slow', () => commits.hold()],
  ['is on a full disk', () => commits.fill()],
]

let keys = 0
const freshKey = () => `key-${++keys}`
const attempt = (key: string, token = 1): RawRequest => ({
  ...{ method: 'POST', target: '/v1/k/charge', body: '{}' },
  headers: [
    ['Fencing-Token', String(token)],
    ['Idempotency-Key', key],
  ],
})
const replayed = ({ values }: RawAnswer) => values('idempotent-replayed').join()
const LONG = Buffer.alloc(300_000, 'fencegate ')

describe.each(faults)('a store that %s', (_what, fail) => {
  // The mark is on record before each test: what a test commits next is the attempt's.
  beforeEach(async () => {
    commits.release()
    await send(attempt(freshKey()))
    upstream.forget()
  })
  const quiet = () => until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')

  test('before the attempt is on record: nothing is sent, and it may be repeated', async () => {
    const key = freshKey()
    fail()
    refusal(await send(attempt(key)), 503, 'store-unavailable')
    expect(upstream.requests).toEqual([])
    commits.release()
    await quiet()
    expect(upstream.requests).toEqual([])
    expect(replayed(await send(attempt(key)))).toBe('')
    expect([upstream.requests.length, replayed(await send(attempt(key)))]).toEqual([1, 'true'])
  })

  test.each([
    ['short', 'whole'],
    ['long', LONG],
  ])('when a %s answer is there: the client is told in time, and the next one gets it', async (_, body) => {
    const key = freshKey()
    const held = upstream.hold()
    const first = send(attempt(key))
    await held.arrived
    fail()
    held.release({ status: 201, body })
    const told = refusal(await first, 502, 'outcome-unknown')
    expect(told.detail).toContain('same key')
    refusal(await send(attempt(key)), 409, 'operation-in-progress')
    commits.release()
    await quiet()
    const again = await send(attempt(key))
    if (body === LONG) refusal(again, 409, 'operation-done')
    else expect([again.status, again.body.text, replayed(again)]).toEqual([201, body, 'true'])
    expect(upstream.requests).toHaveLength(1)
  })

  test('for a moment, when a long answer is there: it is passed on whole', async () => {
    const key = freshKey()
    const held = upstream.hold()
    const first = send(attempt(key))
    await held.arrived
    fail()
    held.release({ status: 201, body: LONG })
    await until(() => upstream.events.some(({ what }) => what === 'answered'), 'the answer')
    commits.release()
    const { status, body } = await first
    // A failed commit is repeated a second later, when its client has been told so.
    if (status !== 502) expect([status, body.sha256]).toEqual([201, sha256(LONG)])
    await quiet()
    refusal(await send(attempt(key)), 409, 'operation-done')
  })

  test('when the outcome is unknown: that is told at once, and is on record in the end', async () => {
    const key = freshKey()
    const held = upstream.hold()
    const first = send(attempt(key))
    const exchange = await held.arrived
    fail()
    exchange.reset()
    refusal(await first, 502, 'outcome-unknown')
    commits.release()
    await quiet()
    refusal(await send(attempt(key)), 409, 'operation-unknown')
    expect(upstream.requests).toHaveLength(1)
  })
})

test('a process that ends before an answer is on record leaves the outcome unknown', async () => {
  commits.release()
  await send(attempt(freshKey()))
  const key = freshKey()
  const held = upstream.hold()
  const first = send(attempt(key)).catch(() => 'cut')
  await held.arrived
  commits.hold()
  held.release({ status: 201, body: 'whole' })
  await until(() => upstream.events.some(({ what }) => what === 'answered'), 'the answer')
  await sidecar.kill()
  expect(await first).toBe('cut')
  commits.release()
  const after = await sidecar.restart()
  refusal(await exchange(after.port, attempt(key)), 409, 'operation-unknown')
})
