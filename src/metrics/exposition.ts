/**
 * Writes metrics out, in the Prometheus text format 0.0.4 or in OpenMetrics 1.0.0.
 *
 * The registry's own writer keeps the format as its state and renames counters when it writes OpenMetrics, so that
 * two scrapers of different kinds would get each other's. Here the metrics are read, and nothing is changed.
 * Values of `le` are canonical (`1.0`) in both formats, so that a scraper that changes over goes on with its series.
 */
import type { Format } from './format.ts'

type Labels = Readonly<Record<string, string | number>>

interface Exemplar {
  readonly labelSet: Labels
  readonly value: number
  /** Seconds since the epoch. */
  readonly timestamp: number
}

export interface Sample {
  readonly labels: Labels
  readonly value: number
  /** Where it isn't the family's: `..._bucket`, `..._sum`, `..._count`. */
  readonly metricName?: string | undefined
  readonly exemplar?: Exemplar | null | undefined
}

/** A metric with all its series, as the registry gives it. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly Sample[]
}

export function write(families: readonly Family[], format: Format): string {
  const openMetrics = format === 'openmetrics'
  const lines = families.flatMap((family) => (openMetrics ? openMetricsLines(family) : textLines(family)))
  return `${lines.join('\n')}\n${openMetrics ? '# EOF\n' : ''}`
}

function textLines({ name, help, type, values }: Family): string[] {
  return [
    `# HELP ${name} ${escapeText(help)}`,
    `# TYPE ${name} ${type}`,
    ...values.map((sample) => sampleLine(sample.metricName ?? name, sample)),
  ]
}

/** A counter's family has its name without `_total`, its sample with it. */
function openMetricsLines({ name, help, type, values }: Family): string[] {
  const family = type === 'counter' ? name.replace(/_total$/, '') : name
  const plain = type === 'counter' ? `${family}_total` : family
  return [
    `# HELP ${family} ${escapeQuoted(help)}`,
    `# TYPE ${family} ${type}`,
    ...values.map((sample) => sampleLine(sample.metricName ?? plain, sample) + exemplarOf(sample)),
  ]
}

function sampleLine(name: string, { labels, value }: Sample): string {
  const text = labelsOf(labels)
  return `${name}${text === '' ? '' : `{${text}}`} ${numberOf(value)}`
}

function exemplarOf({ exemplar }: Sample): string {
  if (!exemplar) return ''
  const { labelSet, value, timestamp } = exemplar
  return ` # {${labelsOf(labelSet)}} ${numberOf(value)} ${timestamp}`
}

function labelsOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${name === 'le' ? boundOf(value) : escapeQuoted(String(value))}"`)
    .join(',')
}

function boundOf(bound: string | number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}

function numberOf(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapeQuoted(text: string): string {
  return escapeText(text).replaceAll('"', '\\"')
}
