/** `onUnknown: hold`: an unknown outcome keeps the next holder out until somebody has said what became of it. */
import { expect, test } from 'vitest'
import { command, control, fencegate, type ListedWrite, rows, unknown } from '../support/operator.ts'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const first = await scene({
  routes: [{ name: 'held', match: { path: '/held/*' }, onUnknown: 'hold' }],
  restartGrace: '0s',
  handoverTimeout: '300ms',
  drainLimit: '800ms',
})
const { upstream } = first
let { sidecar } = first
const send = (request: Parameters<typeof exchange>[1]) => exchange(sidecar.port, request)
const held = (task: string, token: number) => claim(task, token, { target: '/held/1' })
const idsOf = async (task: string) =>
  (await unknown(sidecar)).filter((record) => record.task === task).map(({ id }) => id)
const unresolved = async () => (await sidecar.metrics()).sum('fencegate_unresolved_outcomes')
const resolve = (id: string, as: string, ...args: string[]) =>
  fencegate('resolve', id, '--as', as, '--reason', 'looked', ...args, '--data', sidecar.data)

/** A write of the task whose outcome nobody knows. */
async function lose(task: string, token = 8, request = held(task, token)) {
  upstream.once((exchange) => exchange.reset())
  refusal(await send(request), 502, 'outcome-unknown')
}

async function expectHeld(request: Parameters<typeof exchange>[1], ids: readonly string[]) {
  const sent = upstream.requests.length
  const answer = await send(request)
  const problem = refusal(answer, 503, 'handover-held')
  expect(problem).toMatchObject({ held: ids, sent: 'no', retry: 'after' })
  expect(problem.detail).toContain('fencegate resolve')
  expect(Number(answer.values('retry-after')[0])).toBeGreaterThanOrEqual(1)
  expect(upstream.requests).toHaveLength(sent)
}

test('held through kill -9 and a clean stop, until each record is resolved', async () => {
  await lose('K')
  // Whose outcome it is may go on: it is a successor that must not build on it.
  expect((await send(held('K', 8))).status).toBe(200)
  await lose('K')
  await lose('K')
  const ids = await idsOf('K')
  expect(ids).toHaveLength(3)
  await expectHeld(held('K', 9), ids)
  refusal(await send(held('K', 8)), 412, 'stale-token')
  await sidecar.kill()

  sidecar = await sidecar.restart()
  await expectHeld(held('K', 9), ids)
  const [applied, notApplied, compensated] = ids as [string, string, string]
  const text = await resolve(applied, 'applied', '--by', 'ana')
  expect(text).toEqual({
    code: 0,
    stdout: `Record ${applied} of task K is resolved as applied.\n`,
    stderr: '',
  })
  await expectHeld(held('K', 9), [notApplied, compensated])
  expect(await sidecar.stop()).toBe(0)

  sidecar = await sidecar.restart()
  await expectHeld(held('K', 10), [notApplied, compensated])
  const answer = await command<ListedWrite>(
    sidecar,
    ...['resolve', notApplied, '--as', 'not-applied', '--reason', 'not in the ledger', '--by', 'ben'],
  )
  expect(answer).toMatchObject({
    id: notApplied,
    resolution: 'not-applied',
    resolvedBy: 'ben',
    note: 'not in the ledger',
    resolvedAtMs: expect.any(Number),
  })
  await expectHeld(held('K', 10), [compensated])
  expect(await unresolved()).toBe(1)
  expect((await resolve(compensated, 'compensated')).code).toBe(0)
  expect(await unresolved()).toBe(0)
  expect(await unknown(sidecar)).toEqual([])
  expect((await send(held('K', 10))).status).toBe(200)
  refusal(await send(held('K', 9)), 412, 'stale-token')
})

test('the route of the unknown write decides, whichever the successor takes', async () => {
  await lose('whose')
  await expectHeld(claim('whose', 9), await idsOf('whose'))
  await expectHeld(
    claim('whose', 9, { method: 'POST', target: '/.well-known/fencegate/announce' }),
    await idsOf('whose'),
  )
  // And it holds nobody else's task.
  expect((await send(held('other', 1))).status).toBe(200)
})

test('proceed lets the successor in; the record stays, and both are counted', async () => {
  const before = await unresolved()
  await lose('proceed', 8, claim('proceed', 8))
  expect((await send(held('proceed', 9))).status).toBe(200)
  expect(await idsOf('proceed')).toHaveLength(1)
  expect(await unresolved()).toBe(before + 1)
  const metrics = await sidecar.metrics()
  expect(metrics.sum('fencegate_outcomes_total', { route: 'default', outcome: 'unknown' })).toBe(1)
})

test('an answer that does not tell holds as well', async () => {
  upstream.answerOnce({ status: 504 })
  expect((await send(held('hop', 8))).status).toBe(504)
  await expectHeld(held('hop', 9), await idsOf('hop'))
})

test('a write that drainLimit cuts holds: its successor is let in by an operator, not by time', async () => {
  const open = upstream.hold()
  const low = send(held('cut', 8))
  await open.arrived
  refusal(await send(held('cut', 9)), 503, 'handover-pending')
  refusal(await low, 502, 'superseded')
  // The record may be a moment younger than the answer; until then the write counts as open.
  await until(async () => (await idsOf('cut')).length === 1, 'the record')
  await expectHeld(held('cut', 9), await idsOf('cut'))
})

test('the same resolution twice changes nothing; another one is refused', async () => {
  await lose('twice')
  const [id] = (await idsOf('twice')) as [string]
  expect((await resolve(id, 'applied', '--by', 'ana')).code).toBe(0)
  expect((await resolve(id, 'applied', '--by', 'ben')).code).toBe(0)
  const otherwise = await resolve(id, 'not-applied')
  expect(otherwise).toEqual({
    code: 64,
    stdout: '',
    stderr: expect.stringContaining(`record ${id} is resolved as applied by ana`),
  })
  const nowhere = await resolve('nowhere', 'applied')
  expect(nowhere).toEqual({
    code: 64,
    stdout: '',
    stderr: expect.stringContaining('there is no record nowhere'),
  })
  expect((await send(held('twice', 9))).status).toBe(200)
})

test('of two resolutions at once that differ, one is refused', async () => {
  await lose('at-once')
  const [id] = (await idsOf('at-once')) as [string]
  const answers = await Promise.all(
    ['applied', 'not-applied'].map((resolution) =>
      control(sidecar, 'POST', `/v1/unknown/${id}/resolve`, { resolution, by: 'ana', reason: 'looked' }),
    ),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  const kept = answers.find(({ status }) => status === 200)?.body.resolution
  const refused = answers.find(({ status }) => status === 409)?.body.error
  expect(refused).toContain(`is resolved as ${kept} by ana`)
})

test('each resolution is on record: who, when and what for', async () => {
  expect(await sidecar.stop()).toBe(0)
  const resolutions = rows(sidecar, 'writes').filter(({ resolution }) => resolution !== null)
  expect(
    resolutions.map(({ task, resolution, resolved_by, note }) => [task, resolution, resolved_by, note]),
  ).toEqual([
    ['K', 'applied', 'ana', 'looked'],
    ['K', 'not-applied', 'ben', 'not in the ledger'],
    ['K', 'compensated', expect.stringMatching(/./), 'looked'],
    ['twice', 'applied', 'ana', 'looked'],
    ['at-once', expect.stringMatching(/^(not-)?applied$/), 'ana', 'looked'],
  ])
  const entries = rows(sidecar, 'journal').filter(({ kind }) => kind === 'resolved')
  expect(entries.map(({ task, data }) => [task, JSON.parse(data as string).by])).toEqual(
    resolutions.map(({ task, resolved_by }) => [task, resolved_by]),
  )
})
