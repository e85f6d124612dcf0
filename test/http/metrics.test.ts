/** CASES 13: the number of series does not depend on the number of tasks; the names are the stable ones. */
import { describe, expect, test } from 'vitest'
import { type OpenFamily, parseOpenMetrics } from '../support/openmetrics.ts'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const { sidecar, send, connect } = await scene({
  routes: [{ name: 'payments', guard: 'once', token: 'optional', match: { path: '/pay/{task}/*' } }],
})
const TASKS = 3000
const LANES = 30

test('thousands of tasks add no series, and no task is a label', async () => {
  await send(claim('first', 2))
  await send(claim('first', 1))
  const before = await sidecar.metrics()
  // Requests of one connection wait for each other; those of several share commits.
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const client = await connect()
    const requests = Array.from({ length: TASKS / LANES }, (_, i) => claim(`task-${lane + i * LANES}`, 1 + i))
    void client.send(Buffer.concat(requests.map(encode)))
    for (const _ of requests) expect((await client.answer()).status).toBe(200)
    client.close()
  })
  await Promise.all(lanes)
  await send(claim('task-7', 1))
  const after = await sidecar.metrics()
  expect(after.sum('fencegate_tasks')).toBe(TASKS + 1)
  expect(after.sum('fencegate_raises_total')).toBe(TASKS + 1)
  expect(seriesOf(after)).toEqual(seriesOf(before))
  expect(JSON.stringify(after.samples)).not.toContain('task-7')
})

/** Series of fencegate's own; the runtime's come and go with its handles and collections. */
function seriesOf(metrics: Awaited<ReturnType<typeof sidecar.metrics>>): string[] {
  return metrics.samples
    .filter(({ name }) => name.startsWith('fencegate_'))
    .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
}

const OPEN_METRICS = 'application/openmetrics-text'

async function scrape(accept: string): Promise<{ contentType: string | null; body: string }> {
  const answer = await fetch(`http://127.0.0.1:${sidecar.adminPort}/metrics`, { headers: { accept } })
  return { contentType: answer.headers.get('content-type'), body: await answer.text() }
}

async function families(): Promise<OpenFamily[]> {
  return [...parseOpenMetrics((await scrape(OPEN_METRICS)).body).values()]
}

test('the names are the stable ones, each with its type and its labels', async () => {
  const own = (await families()).filter(({ name }) => name.startsWith('fencegate_'))
  const labelsOf = ({ samples }: OpenFamily) =>
    [...new Set(samples.flatMap(({ labels }) => Object.keys(labels)))].sort().join()
  expect(own.map((family) => [family.name, family.type, labelsOf(family)].join(' ')).sort()).toEqual([
    'fencegate_build_info gauge version',
    'fencegate_config_last_reload_successful gauge ',
    'fencegate_decisions counter decision,route',
    'fencegate_frozen_tasks gauge ',
    'fencegate_handover_duration_seconds histogram le',
    'fencegate_handovers_pending gauge ',
    'fencegate_journal_dropped counter ',
    'fencegate_mark_commit_duration_seconds histogram le',
    'fencegate_oldest_open_write_seconds gauge ',
    'fencegate_open_writes gauge ',
    'fencegate_outcomes counter outcome,route',
    'fencegate_raises counter ',
    'fencegate_request_duration_seconds histogram le,route',
    'fencegate_stale_rejections counter route',
    'fencegate_store_commit_sequence gauge ',
    'fencegate_store_created_timestamp_seconds gauge ',
    'fencegate_tasks gauge ',
    'fencegate_unclaimed_writes counter route',
    'fencegate_unresolved_outcomes gauge ',
    'fencegate_upstream_duration_seconds histogram le,route',
  ])
  expect(own.filter(({ samples }) => samples.length === 0)).toEqual([])
})

describe('exemplars', () => {
  const trace = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' }
  const traced = (token: number, traceparent: string) =>
    claim('exemplary', token, { headers: [['traceparent', traceparent]] })
  const exemplars = async () =>
    (await families()).flatMap(({ samples }) =>
      samples.flatMap(({ name, labels, exemplar }) =>
        exemplar ? [{ name, decision: labels.decision, labels: exemplar.labels }] : [],
      ),
    )

  test('of a request without a valid traceparent there are none', async () => {
    await send(traced(2, `00-${'0'.repeat(32)}-${trace.span_id}-01`))
    await send(traced(1, `01-${trace.trace_id}-${trace.span_id}-01`))
    expect(await exemplars()).toEqual([])
  })

  test('name the trace of a stale write, in its counters and in its duration', async () => {
    await send(traced(1, `00-${trace.trace_id}-${trace.span_id}-01`))
    expect(await exemplars()).toEqual([
      { name: 'fencegate_decisions_total', decision: 'stale-token', labels: trace },
      { name: 'fencegate_stale_rejections_total', decision: undefined, labels: trace },
      { name: 'fencegate_request_duration_seconds_bucket', decision: undefined, labels: trace },
    ])
  })

  test('two scrapers at the same time get the format of each', async () => {
    const accepts = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? OPEN_METRICS : 'text/plain'))
    const answers = await Promise.all(accepts.map(scrape))
    for (const [i, { contentType, body }] of answers.entries()) {
      const open = accepts[i] === OPEN_METRICS
      expect(contentType).toContain(open ? `${OPEN_METRICS}; version=1.0.0` : 'text/plain; version=0.0.4')
      expect([body.endsWith('# EOF\n'), body.includes(trace.trace_id)]).toEqual([open, open])
      expect(body).toContain('fencegate_stale_rejections_total{route="default"}')
    }
  })
})

test('health: alive, ready, and what is not there is not there', async () => {
  expect((await sidecar.admin('/livez')).status).toBe(200)
  const ready = await sidecar.admin('/readyz')
  expect(ready.status).toBe(200)
  expect(JSON.stringify(await ready.json())).toContain('reachable')
  expect((await sidecar.admin('/nothing')).status).toBe(404)
})
