/** Limits of open writes and of waiters: 503 with who and why, nothing sent, and never a successor kept out. */
import { afterEach, expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import type { RawAnswer } from '../support/raw-client.ts'
import type { Held } from '../support/recording-upstream.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const IN_ALL = 5
const PER_TASK = 3
const WAITERS = 3
const commits = new Commits()
const { upstream, send, metric } = await scene(
  {
    limits: { openWrites: IN_ALL, openWritesPerTask: PER_TASK, waitersPerTask: WAITERS },
    routes: [{ name: 'abort', match: { path: '/abort/*' }, handover: 'abort' }],
  },
  commits.options,
)
const open = (count: number) =>
  until(async () => (await metric('fencegate_open_writes')) === count, `${count} open writes`)
const refusals = () => metric('fencegate_decisions_total', { decision: 'overloaded' })

afterEach(() => open(0))

/** So many writes that the resource has and does not answer. */
async function hold(count: number, task: string, token: number, target = '/x') {
  const before = await metric('fencegate_open_writes')
  const holds: Held[] = []
  const answers: Promise<RawAnswer>[] = []
  for (let i = 0; i < count; i++) {
    holds.push(upstream.hold())
    answers.push(send(claim(task, token, { target })))
    await holds.at(-1)?.arrived
  }
  await open(before + count)
  const release = () => {
    for (const held of holds) held.release()
  }
  return { answers, release }
}

function overloaded(answer: RawAnswer, task: string, token: number, limit: string): void {
  expect(refusal(answer, 503, 'overloaded')).toMatchObject({
    task,
    token: `${token}`,
    sent: 'no',
    retry: 'after',
    detail: expect.stringMatching(new RegExp(`limits\\.${limit} .*Nothing was sent`)),
  })
  expect(answer.values('retry-after')).toEqual(['1'])
}

async function statuses(answers: readonly Promise<RawAnswer>[]): Promise<number[]> {
  return (await Promise.all(answers)).map(({ status }) => status)
}

test('open writes of a task: one more is refused unsent, other tasks are served', async () => {
  const full = await hold(PER_TASK, 'K', 8)
  overloaded(await send(claim('K', 8)), 'K', 8, 'openWritesPerTask')
  refusal(await send(claim('K', 7)), 412, 'stale-token')
  expect((await send(claim('other', 1))).status).toBe(200)
  expect(upstream.requests).toHaveLength(PER_TASK + 1)
  full.release()
  expect(await statuses(full.answers)).toEqual([200, 200, 200])
  expect((await send(claim('K', 8))).status).toBe(200)
})

test('open writes in all: one more of any task is refused unsent, reads are served', async () => {
  const full = [await hold(PER_TASK, 'A', 1), await hold(IN_ALL - PER_TASK, 'B', 1)]
  overloaded(await send(claim('C', 1)), 'C', 1, 'openWrites')
  expect((await send({ method: 'GET' })).status).toBe(200)
  expect(upstream.requests).toHaveLength(IN_ALL + 1)
  for (const { release } of full) release()
  expect(await statuses(full.flatMap(({ answers }) => answers))).toEqual([200, 200, 200, 200, 200])
  expect((await send(claim('C', 1))).status).toBe(200)
})

test('waiters of a task: one more of their token is refused, a higher one takes their place', async () => {
  const older = await hold(1, 'W', 8)
  const before = await refusals()
  const waiting = Array.from({ length: WAITERS + 1 }, () => send(claim('W', 9)))
  overloaded(await Promise.race(waiting), 'W', 9, 'waitersPerTask')
  const successor = send(claim('W', 10))
  const others = (await Promise.all(waiting)).filter(({ status }) => status !== 503)
  expect(others).toHaveLength(WAITERS)
  for (const answer of others) refusal(answer, 412, 'stale-token')
  expect(await refusals()).toBe(before + 1)
  expect(upstream.requests).toHaveLength(1)
  older.release()
  expect(await statuses([...older.answers, successor])).toEqual([200, 200])
})

test('waiters of a task, while its raise is being written: as many as the limit, whatever else comes', async () => {
  expect((await send(claim('R', 8))).status).toBe(200)
  const before = await refusals()
  commits.hold()
  try {
    const waiting = Array.from({ length: WAITERS + 20 }, () => send(claim('R', 9)))
    await until(async () => (await refusals()) === before + 20, 'the refusal of all but the limit')
    commits.release()
    const answers = await Promise.all(waiting)
    for (const answer of answers) if (answer.status !== 200) overloaded(answer, 'R', 9, 'waitersPerTask')
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(WAITERS)
  } finally {
    commits.release()
  }
})

test('a successor waits for a holder that has filled its task and the sidecar, and is served', async () => {
  const old = await hold(PER_TASK, 'D', 8)
  const other = await hold(IN_ALL - PER_TASK, 'E', 1)
  const successor = send(claim('D', 9))
  await until(async () => (await metric('fencegate_handovers_pending')) === 1, 'the raise')
  refusal(await send(claim('D', 8)), 412, 'stale-token')
  old.release()
  expect(await statuses([...old.answers, successor])).toEqual([200, 200, 200, 200])
  other.release()
  expect(await statuses(other.answers)).toEqual([200, 200])
})

test('a successor cuts off a holder that has filled its task and the sidecar, and is served', async () => {
  const old = await hold(PER_TASK, 'F', 8, '/abort/x')
  const other = await hold(IN_ALL - PER_TASK, 'E', 1)
  expect((await send(claim('F', 9, { target: '/abort/x' }))).status).toBe(200)
  for (const answer of await Promise.all(old.answers)) refusal(answer, 502, 'superseded')
  other.release()
  expect(await statuses(other.answers)).toEqual([200, 200])
})
