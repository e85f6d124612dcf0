/** CASES 13: the number of series does not depend on the number of tasks; the names are the stable ones. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const { sidecar, send, connect } = await scene()
const TASKS = 3000

test('thousands of tasks add no series, and no task is a label', async () => {
  await send(claim('first', 2))
  await send(claim('first', 1))
  const before = await sidecar.metrics()
  const client = await connect()
  for (let i = 0; i < TASKS; i += 100) {
    const batch = Array.from({ length: 100 }, (_, n) => encode(claim(`task-${i + n}`, 1 + i + n)))
    void client.send(Buffer.concat(batch))
    for (const _ of batch) expect((await client.answer()).status).toBe(200)
  }
  await send(claim('task-7', 1))
  const after = await sidecar.metrics()
  expect(after.sum('fencegate_tasks')).toBe(TASKS + 1)
  expect(after.sum('fencegate_raises_total')).toBe(TASKS + 1)
  expect(seriesOf(after)).toEqual(seriesOf(before))
  expect(JSON.stringify(after.samples)).not.toContain('task-7')
  client.close()
})

/** Series of fencegate's own; the runtime's come and go with its handles and collections. */
function seriesOf(metrics: Awaited<ReturnType<typeof sidecar.metrics>>): string[] {
  return metrics.samples
    .filter(({ name }) => name.startsWith('fencegate_'))
    .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
}

test.each([
  'fencegate_decisions_total',
  'fencegate_stale_rejections_total',
  'fencegate_raises_total',
  'fencegate_outcomes_total',
  'fencegate_open_writes',
  'fencegate_oldest_open_write_seconds',
  'fencegate_handovers_pending',
  'fencegate_tasks',
  'fencegate_store_commit_sequence',
  'fencegate_store_created_timestamp_seconds',
  'fencegate_handover_duration_seconds_count',
  'fencegate_mark_commit_duration_seconds_count',
  'fencegate_request_duration_seconds_count',
  'fencegate_upstream_duration_seconds_count',
  'fencegate_build_info',
])('%s is there', async (name) => {
  expect((await sidecar.metrics()).has(name)).toBe(true)
})

test('health: alive, ready, and what is not there is not there', async () => {
  expect((await sidecar.admin('/livez')).status).toBe(200)
  const ready = await sidecar.admin('/readyz')
  expect(ready.status).toBe(200)
  expect(JSON.stringify(await ready.json())).toContain('reachable')
  expect((await sidecar.admin('/nothing')).status).toBe(404)
})
