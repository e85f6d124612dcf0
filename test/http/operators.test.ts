/** Freeze, thaw and raise: what an operator says holds at once, through restarts, and is on record. */
import { expect, test } from 'vitest'
import { command, control, fencegate, rows } from '../support/operator.ts'
import { encode, exchange, RawClient, type RawRequest } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const first = await scene({ handoverTimeout: '5s', restartGrace: '0s', drainLimit: '3s' })
const { upstream } = first
let { sidecar } = first
const started = Date.now()
const send = (request: RawRequest) => exchange(sidecar.port, request)
const metric = async (name: string) => (await sidecar.metrics()).sum(name)
/** Acts without the half second that a command takes to start. */
async function act(kind: 'freeze' | 'thaw' | 'raise', task: string, token?: string) {
  const target = `/v1/tasks/${encodeURIComponent(task)}/${kind}`
  const { status, body } = await control(sidecar, 'POST', target, {
    by: 'ana',
    reason: `INC-7: ${kind}`,
    ...(token !== undefined && { token }),
  })
  expect(status).toBe(200)
  return body as { open: unknown[] }
}
const text = (...args: string[]) =>
  fencegate(...args, '--by', 'ana', '--reason', `INC-7: ${args[0]}`, '--data', sidecar.data)

test('freeze refuses new writes and those not sent yet, and lists those at the resource', async () => {
  expect((await send(claim('K', 50))).status).toBe(200)
  const held = upstream.hold()
  const open = send(
    claim('K', 50, { method: 'POST', target: '/open', headers: [['Fencing-Holder', 'worker-a']] }),
  )
  await held.arrived
  const admitted = await RawClient.connect(sidecar.port)
  await admitted.send(encode(claim('K', 50, { body: '', headers: [['Content-Length', '8']] })))
  await until(async () => (await metric('fencegate_open_writes')) === 2, 'both permits')
  const sent = upstream.requests.length

  const answer = await command(sidecar, 'freeze', 'K', '--by', 'ana', '--reason', 'INC-7: freeze')
  expect(answer).toEqual({
    ...{ task: 'K', mark: '50', frozen: true, passes: '50' },
    open: [
      {
        route: 'default',
        method: 'POST',
        target: '/open',
        token: '50',
        holder: 'worker-a',
        ageMs: expect.any(Number),
      },
    ],
  })
  const refused = await admitted.answer()
  expect(refusal(refused, 423, 'task-frozen')).toMatchObject({ task: 'K', sent: 'no', retry: 'after' })
  expect(refused.values('retry-after')).toEqual(['1'])
  for (const token of [49, 50, 51]) refusal(await send(claim('K', token)), 423, 'task-frozen')
  const announcement = claim('K', 51, { method: 'POST', target: '/.well-known/fencegate/announce' })
  refusal(await send(announcement), 423, 'task-frozen')
  expect(upstream.requests).toHaveLength(sent)
  expect(await metric('fencegate_frozen_tasks')).toBe(1)

  // What is at the resource is not stopped; reads and other tasks are not concerned.
  const { stdout } = await text('freeze', 'K')
  expect(stdout).toMatch(
    /^K is frozen\.\nStill open, and not stopped by this:\n {2}token 50 {2}POST \/open {2}route default {2}open for \d+\.\d s\n$/,
  )
  held.release()
  expect((await open).status).toBe(200)
  expect((await send({ method: 'GET', target: '/' })).status).toBe(200)
  expect((await send(claim('L', 1))).status).toBe(200)
  admitted.close()
})

test('a successor that waits for the drain is refused as well', async () => {
  const held = upstream.hold()
  const low = send(claim('waiting', 8))
  await held.arrived
  const high = send(claim('waiting', 9))
  await until(async () => (await metric('fencegate_handovers_pending')) === 1, 'a pending handover')
  expect((await act('freeze', 'waiting')).open).toHaveLength(1)
  refusal(await high, 423, 'task-frozen')
  held.release()
  expect((await low).status).toBe(200)
  expect((await act('thaw', 'waiting')).open).toEqual([])
  refusal(await send(claim('waiting', 8)), 412, 'stale-token')
  expect((await send(claim('waiting', 9))).status).toBe(200)
})

test('frozen stays frozen, through kill -9 and a clean stop', async () => {
  await sidecar.kill()
  sidecar = await sidecar.restart()
  refusal(await send(claim('K', 50)), 423, 'task-frozen')
  expect(await metric('fencegate_frozen_tasks')).toBe(1)
  expect(await sidecar.stop()).toBe(0)
  sidecar = await sidecar.restart()
  refusal(await send(claim('K', 51)), 423, 'task-frozen')
})

test('thaw --token elects: lower tokens are stale at once', async () => {
  const below = await text('thaw', 'K', '--token', '49')
  expect(below).toMatchObject({ code: 64, stdout: '' })
  expect(below.stderr).toContain('the mark of K is 50 already, above 49')
  refusal(await send(claim('K', 50)), 423, 'task-frozen')

  const { code, stdout } = await text('thaw', 'K', '--token', '52')
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: 'K is thawed. Tokens below 52 are stale.\nNo write is open.\n',
  })
  expect(await metric('fencegate_frozen_tasks')).toBe(0)
  for (const token of [50, 51])
    expect(refusal(await send(claim('K', token)), 412, 'stale-token')).toMatchObject({ highest: '52' })
  expect((await send(claim('K', 52))).status).toBe(200)
})

test('raise makes lower tokens stale; below the mark it is refused with the reason', async () => {
  const held = upstream.hold()
  const open = send(claim('raised', 8))
  await held.arrived
  expect((await act('raise', 'raised', '9007199254740993')).open).toEqual([
    expect.objectContaining({ token: '8', target: '/x' }),
  ])
  refusal(await send(claim('raised', '9007199254740992')), 412, 'stale-token')
  const high = send(claim('raised', '9007199254740993'))
  await until(async () => (await metric('fencegate_handovers_pending')) === 1, 'a pending handover')
  held.release()
  expect((await open).status).toBe(200)
  expect((await high).status).toBe(200)
  // A task that nobody has heard of can be raised ahead.
  expect((await act('raise', 'unheard/of%41', '5')).open).toEqual([])

  const below = await text('raise', 'raised', '--token', '9007199254740992')
  expect(below).toMatchObject({ code: 64, stdout: '' })
  expect(below.stderr).toBe(
    'fencegate: the mark of raised is 9007199254740993 already, above 9007199254740992\n',
  )
})

test('the elected token is anybody’s who comes first, as no holder was named', async () => {
  const named = (holder: string) => claim('named', 9, { headers: [['Fencing-Holder', holder]] })
  expect((await send(named('worker-a'))).status).toBe(200)
  await act('raise', 'named', '9')
  refusal(await send(named('worker-b')), 409, 'token-conflict')
  await act('raise', 'named', '10')
  expect((await send(claim('named', 10, { headers: [['Fencing-Holder', 'worker-b']] }))).status).toBe(200)
})

test('a lower write that an operator’s raise waits for is cut after drainLimit', async () => {
  const held = upstream.hold()
  const open = send(claim('limit', 8))
  await held.arrived
  expect((await act('raise', 'limit', '9')).open).toHaveLength(1)
  refusal(await open, 502, 'superseded')
  expect((await send(claim('limit', 9))).status).toBe(200)
})

test('every act is on record: what, who, when and why; one that was refused is not', async () => {
  expect(await sidecar.stop()).toBe(0)
  const acts = rows(sidecar, 'journal')
    .filter(({ kind }) => kind === 'act')
    .map(({ data, ...entry }) => ({ ...entry, ...JSON.parse(data as string) }))
  expect(acts.map(({ act, task, token }) => [act, task, token])).toEqual([
    ['freeze', 'K', null],
    ['freeze', 'K', null],
    ['freeze', 'waiting', null],
    ['thaw', 'waiting', null],
    ['thaw', 'K', 52n],
    ['raise', 'raised', 9007199254740993n],
    ['raise', 'unheard/of%41', 5n],
    ['raise', 'named', 9n],
    ['raise', 'named', 10n],
    ['raise', 'limit', 9n],
  ])
  for (const { act, by, reason, at_ms } of acts) {
    expect({ by, reason }).toEqual({ by: 'ana', reason: `INC-7: ${act}` })
    expect(Number(at_ms)).toBeGreaterThanOrEqual(started)
    expect(Number(at_ms)).toBeLessThanOrEqual(Date.now())
  }
})
