/**
 * The metrics, by their stable names. Labels are routes, decisions and outcomes, all bounded by the
 * configuration: never a task, a token or anything else that a client chooses. A request's trace is no label but
 * an exemplar, of which a series keeps one.
 */
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client'
import type { Traceparent } from '../tracing/traceparent.ts'
import { type Family, write } from './exposition.ts'
import { CONTENT_TYPES, negotiate } from './format.ts'
import { decisionsOf, isFenced, type MeteredRoute, OUTCOMES, rejectsStale } from './known-series.ts'
import { type Snapshot, Totals } from './totals.ts'

/** Where the gauges look at scrape time. */
export interface MetricsSource {
  openWrites(): number
  oldestOpenWriteSeconds(): number
  handoversPending(): number
  tasks(): number
  frozenTasks(): number
  unresolvedOutcomes(): number
  commitSequence(): number
  storeCreatedSeconds(): number
}

/** What a scraper is sent. */
export interface Scrape {
  readonly contentType: string
  readonly body: string
}

/** From a cached answer on loopback to an upload of minutes. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
/** From an fsync on a good disk to one that is in trouble. */
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export class Metrics {
  readonly #registry = exemplarRegistry()
  readonly #totals = new Totals()
  /** Routes whose series are there. */
  readonly #begun = new Set<string>()
  readonly #decisions = this.#counter(
    'decisions_total',
    'Decisions on fenced requests',
    ['route', 'decision'],
    true,
  )
  readonly #stale = this.#counter('stale_rejections_total', 'Writes rejected as stale', ['route'], true)
  readonly #unclaimed = this.#counter('unclaimed_writes_total', 'Writes admitted without a token', ['route'])
  readonly #raises = this.#counter('raises_total', 'Marks raised durably', [])
  readonly #reload: Gauge
  readonly #journalDropped = this.#counter('journal_dropped_total', 'Journal entries that were not kept', [])
  readonly #outcomes = this.#counter('outcomes_total', 'How admitted writes ended', ['route', 'outcome'])
  readonly #handover = this.#histogram(
    'handover_duration_seconds',
    'From a raise to its complete handover',
    [],
    SECONDS,
  )
  readonly #commit = this.#histogram(
    'mark_commit_duration_seconds',
    'From a raise to its durable mark',
    [],
    COMMIT_SECONDS,
  )
  readonly #request = this.#histogram(
    'request_duration_seconds',
    'From the head to the end of the answer',
    ['route'],
    SECONDS,
    true,
  )
  readonly #upstream = this.#histogram(
    'upstream_duration_seconds',
    "From the first byte sent to the end of the resource's answer",
    ['route'],
    SECONDS,
  )

  constructor(version: string, source: MetricsSource) {
    collectDefaultMetrics({ register: this.#registry })
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name: `fencegate_${name}`,
        help,
        registers: [this.#registry],
        collect() {
          this.set(read())
        },
      })
    gauge('open_writes', 'Permits that are out', source.openWrites)
    gauge('oldest_open_write_seconds', 'Age of the oldest permit that is out', source.oldestOpenWriteSeconds)
    gauge('handovers_pending', 'Tasks whose new holder waits for lower writes', source.handoversPending)
    gauge('tasks', 'Tasks with a recorded mark', source.tasks)
    gauge('frozen_tasks', 'Tasks that an operator froze', source.frozenTasks)
    gauge('unresolved_outcomes', 'Unknown outcomes that nobody has resolved', source.unresolvedOutcomes)
    gauge('store_commit_sequence', 'Commits of marks since the store was made', source.commitSequence)
    gauge('store_created_timestamp_seconds', 'When the store was made', source.storeCreatedSeconds)
    this.#reload = new Gauge({
      name: 'fencegate_config_last_reload_successful',
      help: 'Whether the configuration that was read last is in force',
      registers: [this.#registry],
    })
    this.#reload.set(1)
    new Gauge({
      name: 'fencegate_build_info',
      help: 'The version that runs',
      labelNames: ['version'],
      registers: [this.#registry],
    }).set({ version }, 1)
  }

  /** All metrics, in the format that the scraper's Accept field asks for. */
  async scrape(accept: string | undefined): Promise<Scrape> {
    const format = negotiate(accept)
    const families = (await this.#registry.getMetricsAsJSON()) as unknown as Family[]
    return { contentType: CONTENT_TYPES[format], body: write(families, format) }
  }

  snapshot(): Snapshot {
    return this.#totals.snapshot()
  }

  /** The routes in force: their series begin at 0. Those of earlier routes stay, as a counter's must. */
  expect(routes: readonly MeteredRoute[]): void {
    for (const route of routes) this.#expectRoute(route)
  }

  /** `decision`: `forwarded`, a refusal's code, or `would-` and a refusal's code under observe. */
  decided(route: string, decision: string, trace?: Traceparent): void {
    const exemplar = exemplarOf(trace)
    this.#decisions.inc({ labels: { route, decision }, ...exemplar })
    this.#totals.decided(route, decision)
    if (decision !== 'stale-token') return
    this.#stale.inc({ labels: { route }, ...exemplar })
    this.#totals.rejectedAsStale()
  }

  /** A write without a token came on a route that admits those. */
  unclaimed(route: string): void {
    this.#unclaimed.inc({ route })
  }

  /** `upstreamMs`: since the first byte was sent; undefined if none was. */
  ended(route: string, outcome: string, upstreamMs: number | undefined): void {
    this.#outcomes.inc({ route, outcome })
    if (upstreamMs !== undefined) this.#upstream.observe({ route }, upstreamMs / 1000)
  }

  requested(route: string, ms: number, trace?: Traceparent): void {
    this.#request.observe({ labels: { route }, value: ms / 1000, ...exemplarOf(trace) })
  }

  raised(ms: number): void {
    this.#raises.inc()
    this.#totals.raised(ms)
    this.#commit.observe(ms / 1000)
  }

  handedOver(ms: number): void {
    this.#handover.observe(ms / 1000)
  }

  journalDropped(): void {
    this.#journalDropped.inc()
  }

  /** The configuration was read again, and is in force or was refused. */
  reloaded(successfully: boolean): void {
    this.#reload.set(successfully ? 1 : 0)
  }

  #expectRoute(route: MeteredRoute): void {
    const labels = { route: route.name }
    this.#begin('request', labels)
    if (!isFenced(route)) return
    this.#begin('upstream', labels)
    // A route of before may be another by now, enforced after it was observed; to add 0 to what counts takes nothing away.
    for (const outcome of OUTCOMES) this.#outcomes.inc({ ...labels, outcome }, 0)
    for (const decision of decisionsOf(route))
      this.#decisions.inc({ labels: { ...labels, decision }, value: 0 })
    if (rejectsStale(route)) this.#stale.inc({ labels, value: 0 })
    if (route.token === 'optional') this.#unclaimed.inc(labels, 0)
  }

  /** Once: unlike a counter, a histogram would forget what it has. */
  #begin(which: 'request' | 'upstream', labels: { readonly route: string }): void {
    const series = `${which} ${labels.route}`
    if (this.#begun.has(series)) return
    this.#begun.add(series)
    const histogram = which === 'request' ? this.#request : this.#upstream
    histogram.zero(labels)
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[], exemplars = false): Counter<L> {
    const registers = [this.#registry]
    return new Counter({ name: `fencegate_${name}`, help, labelNames, registers, enableExemplars: exemplars })
  }

  #histogram<L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    buckets: number[],
    exemplars = false,
  ): Histogram<L> {
    return new Histogram({
      name: `fencegate_${name}`,
      help,
      labelNames,
      buckets,
      registers: [this.#registry],
      enableExemplars: exemplars,
    })
  }
}

/** Metrics with exemplars can only be made in a registry that is for OpenMetrics when they are made. */
function exemplarRegistry(): Registry {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry as unknown as Registry
}

/** As the registry takes it: nothing keeps the series' last exemplar. */
function exemplarOf(trace: Traceparent | undefined) {
  return trace && { exemplarLabels: { trace_id: trace.traceId, span_id: trace.spanId } as object }
}
