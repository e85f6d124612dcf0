/** The number of series does not depend on the number of tasks: 100,000 of them through a gate that is measured. */
import { expect, it } from 'vitest'
import { monotonicClock } from '../../src/clock.ts'
import { Admission } from '../../src/gate/admission.ts'
import { Gate } from '../../src/gate/gate.ts'
import { Metrics } from '../../src/metrics/metrics.ts'
import { MemoryMarkStore } from '../support/memory-mark-store.ts'
import { parseOpenMetrics } from '../support/openmetrics.ts'
import { MemoryDisk } from '../support/store-memory-disk.ts'

const TASKS = 100_000
const BATCH = 1000
const ROUTE = { name: 'ledger', guard: 'fence', mode: 'enforce', token: 'required' } as const

const store = new MemoryMarkStore(new MemoryDisk(0n), { automatic: true })
const metrics = new Metrics('1.2.3', {
  openWrites: () => gate.inFlight.size,
  oldestOpenWriteSeconds: () => 0,
  handoversPending: () => gate.view.handoversPending,
  tasks: () => store.counts().tasks,
  frozenTasks: () => store.counts().frozen,
  unresolvedOutcomes: () => store.counts().unresolved,
  commitSequence: () => store.counts().commitSequence,
  storeCreatedSeconds: () => 0,
})
const gate = new Gate({
  store,
  clock: monotonicClock,
  handoverTimeoutMs: 60_000,
  drainLimitMs: 60_000,
  graceMs: 0,
  storeTimeoutMs: 60_000,
  cachedTasks: 1000,
  maxTokenJump: undefined,
  limits: { openWrites: BATCH, openWritesPerTask: 1, waitersPerTask: 10 },
  observer: { raised: (ms) => metrics.raised(ms), handedOver: (ms) => metrics.handedOver(ms), used() {} },
})

/** One write as the data port counts it: a holder's, then that of the one before it. */
async function write(task: string): Promise<void> {
  for (const token of [2n, 1n]) {
    const admitted = await gate.admit(new Admission({ task, token }))
    if ('code' in admitted) {
      metrics.decided(ROUTE.name, admitted.code)
    } else {
      admitted.begin()
      metrics.decided(ROUTE.name, 'forwarded')
      admitted.release({ outcome: 'answered' })
      metrics.ended(ROUTE.name, 'answered', 1)
    }
    metrics.requested(ROUTE.name, 1)
  }
}

/** By name and labels, as a scraper tells them apart; the runtime's own come and go with its handles. */
async function series(): Promise<string[]> {
  const { body } = await metrics.scrape('application/openmetrics-text')
  return [...parseOpenMetrics(body).values()]
    .filter(({ name }) => name.startsWith('fencegate_'))
    .flatMap(({ samples }) => samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`))
}

it('a hundred thousand tasks add none', async () => {
  metrics.expect([ROUTE])
  const before = await series()
  for (let first = 0; first < TASKS; first += BATCH) {
    await Promise.all(Array.from({ length: BATCH }, (_, i) => write(`task-${first + i}`)))
  }
  expect(await series()).toEqual(before)
  const { staleRejections, raises } = metrics.snapshot()
  expect({ staleRejections, raises, tasks: store.counts().tasks }).toEqual({
    staleRejections: TASKS,
    raises: TASKS,
    tasks: TASKS,
  })
  await gate.close()
}, 60_000)
