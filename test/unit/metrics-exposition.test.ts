/**
 * The metrics as they are written out: there from the start, valid in both formats, with exemplars in OpenMetrics
 * alone.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { Metrics } from '../../src/metrics/metrics.ts'
import { readTraceparent } from '../../src/tracing/traceparent.ts'
import { Metrics as PlainText } from '../support/metrics.ts'
import { type OpenFamily, parseOpenMetrics } from '../support/openmetrics.ts'

const ROUTES = [
  { name: 'ledger', guard: 'fence', mode: 'enforce', token: 'required' },
  { name: 'pay', guard: 'once', mode: 'enforce', token: 'optional' },
  { name: 'trial', guard: 'fence', mode: 'observe', token: 'required' },
  { name: 'open', guard: 'none', mode: 'enforce', token: 'required' },
] as const
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const TRACE = readTraceparent(`00-${TRACE_ID}-${SPAN_ID}-01`)

function metricsOf(version = '1.2.3', routes: Parameters<Metrics['expect']>[0] = ROUTES): Metrics {
  const metrics = new Metrics(version, {
    openWrites: () => 3,
    oldestOpenWriteSeconds: () => 0.25,
    handoversPending: () => 1,
    tasks: () => 12,
    frozenTasks: () => 2,
    unresolvedOutcomes: () => 1,
    commitSequence: () => 99,
    storeCreatedSeconds: () => 1.7e9,
  })
  metrics.expect(routes)
  return metrics
}

async function open(metrics: Metrics): Promise<Map<string, OpenFamily>> {
  return parseOpenMetrics((await metrics.scrape('application/openmetrics-text')).body)
}

describe('at the start', () => {
  let families: Map<string, OpenFamily>
  beforeAll(async () => {
    families = await open(metricsOf())
  })

  it('the counters of each route are 0, so that their first increase shows', () => {
    const series = (name: string) =>
      families.get(name)?.samples.map(({ labels, value }) => [...Object.values(labels), value].join(' '))
    const refused = ['stale-token', 'token-conflict', 'token-required', 'task-frozen']
    const delayed = ['handover-pending', 'handover-held', 'store-unavailable']
    const enforced = ['forwarded', ...refused, ...delayed]
    expect(series('fencegate_decisions')?.sort()).toEqual(
      [
        ...enforced.map((decision) => `ledger ${decision} 0`),
        ...enforced.map((decision) => `pay ${decision} 0`),
        ...['replayed', 'operation-unknown', 'operation-mismatch'].map((decision) => `pay ${decision} 0`),
        'trial forwarded 0',
        ...refused.map((decision) => `trial would-${decision} 0`),
      ].sort(),
    )
    expect(series('fencegate_stale_rejections')).toEqual(['ledger 0', 'pay 0'])
    expect(series('fencegate_unclaimed_writes')).toEqual(['pay 0'])
    expect(series('fencegate_outcomes')).toHaveLength(9)
    expect(series('fencegate_journal_dropped')).toEqual(['0'])
    expect(series('fencegate_raises')).toEqual(['0'])
  })
})

it('routes that a reload brings begin at 0, and those that stay go on', async () => {
  const metrics = metricsOf()
  metrics.decided('ledger', 'forwarded')
  metrics.requested('ledger', 5)
  metrics.expect([...ROUTES, { name: 'new', guard: 'fence', mode: 'enforce', token: 'required' }])
  const plain = new PlainText((await metrics.scrape(undefined)).body)
  expect(plain.sum('fencegate_decisions_total', { route: 'ledger' })).toBe(1)
  expect(plain.sum('fencegate_request_duration_seconds_count', { route: 'ledger' })).toBe(1)
  const added = plain.samples.filter(({ labels }) => labels.route === 'new')
  expect(added.find(({ labels }) => labels.decision === 'stale-token')?.value).toBe(0)
})

it('a route that is enforced after it was observed has the series of both', async () => {
  const route = { name: 'ledger', guard: 'fence', token: 'required' } as const
  const metrics = metricsOf('1.2.3', [{ ...route, mode: 'observe' }])
  metrics.requested('ledger', 5)
  metrics.expect([{ ...route, mode: 'enforce' }])
  const plain = new PlainText((await metrics.scrape(undefined)).body)
  const stale = plain.samples.filter(({ name }) => name === 'fencegate_stale_rejections_total')
  expect(stale.map(({ labels, value }) => [labels.route, value])).toEqual([['ledger', 0]])
  expect(plain.sum('fencegate_request_duration_seconds_count', { route: 'ledger' })).toBe(1)
})

describe('exemplars', () => {
  it('name the trace of the request that was last counted, and nothing else', async () => {
    const metrics = metricsOf()
    const before = Date.now() / 1000
    metrics.decided('ledger', 'stale-token', TRACE)
    metrics.decided('ledger', 'stale-token')
    metrics.requested('ledger', 7, TRACE)
    metrics.requested('ledger', 400_000, TRACE)
    metrics.requested('ledger', 0.1)
    const families = await open(metrics)
    const found = [...families.values()].flatMap(({ samples }) => samples.filter(({ exemplar }) => exemplar))
    const labels = { trace_id: TRACE_ID, span_id: SPAN_ID }
    expect(found.map(({ name, labels: { le }, exemplar }) => [name, le, exemplar?.value])).toEqual([
      ['fencegate_decisions_total', undefined, 1],
      ['fencegate_stale_rejections_total', undefined, 1],
      ['fencegate_request_duration_seconds_bucket', '0.01', 0.007],
      ['fencegate_request_duration_seconds_bucket', '+Inf', 400],
    ])
    for (const { exemplar } of found) {
      expect(exemplar?.labels).toEqual(labels)
      expect(exemplar?.timestamp).toBeGreaterThanOrEqual(before)
    }
  })

  it('are not in plain text, whose readers would refuse all of it', async () => {
    const metrics = metricsOf()
    metrics.decided('ledger', 'stale-token', TRACE)
    metrics.requested('ledger', 7, TRACE)
    await metrics.scrape('application/openmetrics-text')
    const { body } = await metrics.scrape('text/plain')
    expect(body).not.toMatch(/4bf92f|# EOF| # \{/)
    expect(body).toContain('fencegate_stale_rejections_total{route="ledger"} 1\n')
  })
})

describe('both formats', () => {
  it('have the same samples, of the process as well', async () => {
    const metrics = metricsOf()
    metrics.decided('ledger', 'forwarded', TRACE)
    metrics.ended('ledger', 'answered', 3)
    const samples = [...(await open(metrics)).values()].flatMap((family) => family.samples)
    const plain = new PlainText((await metrics.scrape(undefined)).body).samples
    const shown = (list: readonly { name: string; labels: object }[]) =>
      list
        .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
        .filter((line) => !/nodejs_active|_gc_/.test(line))
    expect(shown(samples)).toEqual(shown(plain))
    expect(shown(plain)).toContain('process_cpu_seconds_total {}')
  })

  it('escape what a label may hold', async () => {
    const version = 'a"b\\c\nd'
    const metrics = metricsOf(version)
    expect((await open(metrics)).get('fencegate_build_info')?.samples[0]?.labels).toEqual({ version })
    const plain = (await metrics.scrape(undefined)).body
    expect(plain).toContain('fencegate_build_info{version="a\\"b\\\\c\\nd"} 1\n')
  })
})
