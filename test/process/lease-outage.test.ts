/**
 * Ten minutes without the lease service, in three seconds: a lease of 10 s is one of 50 ms here, and 60 of them pass.
 * The service is stopped, then killed; every holder keeps writing, nobody is refused or cut by the sidecar, no task
 * changes hands, and what that costs is counted. When the service is back, the next grant hands over.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type { Told } from '../support/lease-worker.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { Sidecar, temporaryDirectory } from '../support/sidecar.ts'
import { Changes, within } from '../support/wait.ts'

const LEASE_MS = 50
const OUTAGE_MS = 3000
const TASKS = ['ledger', 'exports', 'reports']

const children: ChildProcess[] = []
const upstream = await RecordingUpstream.start()
afterAll(async () => {
  const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  const ends = running.map((child) => once(child, 'exit'))
  for (const child of running) child.kill('SIGKILL')
  await Promise.all(ends)
  await upstream.close()
})

function start(file: string, args: readonly (string | number)[]): ChildProcess {
  const child = fork(path.join(import.meta.dirname, '../support', file), args.map(String), { execArgv: [] })
  children.push(child)
  return child
}

const tokens = path.join(temporaryDirectory(), 'tokens.json')

async function startService(port: number): Promise<{ child: ChildProcess; port: number }> {
  const child = start('lease-service.ts', [port, tokens, LEASE_MS])
  const [listening] = await within(once(child, 'message'), 'the lease service listens')
  return { child, port: listening as number }
}

/** A worker's process, and what it told so far. */
class Worker {
  readonly told: Told[] = []
  readonly changes = new Changes()
  readonly ended: Promise<unknown>

  constructor(leasePort: number, sidecarPort: number) {
    const child = start('lease-worker.ts', [leasePort, sidecarPort, LEASE_MS, ...TASKS])
    this.ended = once(child, 'exit')
    child.on('message', (told: Told) => {
      this.told.push(told)
      this.changes.notify()
    })
  }

  of(...kinds: Told['kind'][]): Told[] {
    return this.told.filter(({ kind }) => kinds.includes(kind))
  }

  /** Resolves once it told this of each task since the `from`th thing that it told. */
  ofEachTask(accept: (told: Told) => boolean, what: string, from = 0): Promise<void> {
    const all = () =>
      new Set(
        this.told
          .slice(from)
          .filter(accept)
          .map(({ task }) => task),
      ).size === TASKS.length
    return this.changes.when(all, `${what}, for each task`)
  }
}

test('holders write on, nothing changes hands, and the cost is counted', async () => {
  const sidecar = await Sidecar.start({
    upstream: upstream.url,
    config: {
      routes: [
        { name: 'writes', match: { path: '/wrote/{task}/*' } },
        { name: 'payments', match: { path: '/paid/{task}/*' }, guard: 'once', token: 'optional' },
      ],
    },
  })
  let service = await startService(0)
  const holder = new Worker(service.port, sidecar.port)
  const wrote = (told: Told) => told.kind === 'wrote'
  await holder.ofEachTask(wrote, 'a write of the holder')
  await holder.ofEachTask(({ kind }) => kind === 'renewed', 'a renewal')

  const from = holder.told.length
  await sleep(1000)
  const perSecondBefore = holder.told.slice(from).filter(wrote).length

  service.child.kill('SIGSTOP')
  const before = await sidecar.metrics()
  const toldBefore = holder.told.length
  const began = performance.now()
  const waiting = new Worker(service.port, sidecar.port)
  await waiting.ofEachTask(({ kind }) => kind === 'no-lease', 'a lease that is not granted')
  await waiting.ofEachTask(({ kind }) => kind === 'paid', 'a payment without a token')
  await sleep(OUTAGE_MS / 2)
  service.child.kill('SIGKILL')
  await sleep(OUTAGE_MS / 2)

  // Still down: nobody has been in the way of a holder, and none has become one.
  const perSecond = (holder.told.slice(toldBefore).filter(wrote).length * 1000) / (performance.now() - began)
  const during = await sidecar.metrics()
  const risen = (name: string, labels = {}) => during.sum(name, labels) - before.sum(name, labels)
  expect(holder.of('wrote').filter(({ status }) => status !== 200)).toEqual([])
  await holder.ofEachTask(wrote, 'a write that the outage does not end', holder.told.length)
  expect(holder.of('not-renewed').length).toBeGreaterThan(TASKS.length)
  expect(waiting.of('granted')).toEqual([])
  expect(risen('fencegate_decisions_total', { route: 'writes', decision: 'forwarded' })).toBeGreaterThan(
    TASKS.length,
  )
  for (const decision of new Set(during.samples.flatMap(({ labels }) => labels.decision ?? [])))
    if (decision !== 'forwarded') expect(risen('fencegate_decisions_total', { decision }), decision).toBe(0)
  expect(risen('fencegate_raises_total')).toBe(0)
  expect(risen('fencegate_handover_duration_seconds_count')).toBe(0)
  expect(risen('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(0)

  service = await startService(service.port)
  await waiting.ofEachTask(({ kind }) => kind === 'granted', 'a grant')
  await waiting.ofEachTask(wrote, 'a write of the new holder')
  await within(holder.ended, 'the end of the old holder')
  const after = await sidecar.metrics()
  // A grant whose answer came too late is one that nobody has: tokens may skip, and only rise.
  for (const task of TASKS) {
    const [old, now] = [holder, waiting].map((worker) =>
      worker.of('granted').find((told) => told.task === task),
    )
    expect(now?.token).toBeGreaterThan(old?.token as number)
    const refused = holder.of('wrote').filter((told) => told.task === task && told.status !== 200)
    expect(refused).toEqual([{ ...refused[0], token: old?.token, status: 412, code: 'stale-token' }])
  }
  const paid = [...holder.of('paid'), ...waiting.of('paid')]
  expect([...waiting.of('wrote'), ...paid].filter(({ status }) => status !== 200)).toEqual([])
  expect(after.sum('fencegate_stale_rejections_total')).toBe(TASKS.length)
  expect(after.sum('fencegate_raises_total') - during.sum('fencegate_raises_total')).toBe(TASKS.length)
  const handovers = 'fencegate_handover_duration_seconds_count'
  expect(after.sum(handovers) - during.sum(handovers)).toBe(TASKS.length)
  // What it cost: payments that no fence covered, and each of them is on the count.
  expect(after.sum('fencegate_unclaimed_writes_total', { route: 'payments' })).toBe(paid.length)

  console.log(
    `writes a second: ${perSecondBefore} before, ${Math.round(perSecond)} during the outage; ` +
      `${paid.length} payments without a token, ${waiting.of('no-lease').length} leases not granted`,
  )
})
