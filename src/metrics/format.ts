/**
 * Which of the two formats a scraper gets: OpenMetrics 1.0.0 if it asks for that by name, and no less than for
 * plain text; the Prometheus text format 0.0.4 otherwise, wildcards and nonsense included.
 */

export type Format = 'openmetrics' | 'text'

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  text: 'text/plain; version=0.0.4; charset=utf-8',
}

/** One element of an Accept field. */
interface Range {
  readonly type: string
  readonly version: string | undefined
  /** 0 to 1; 0 is a refusal. */
  readonly quality: number
}

const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/** @param accept the value of the scraper's Accept field, if it sent one. */
export function negotiate(accept: string | undefined): Format {
  const ranges = (accept ?? '').split(',').flatMap(rangeOf)
  const openMetrics = qualityOf(ranges, ['application/openmetrics-text'], '1.0.0')
  const text = qualityOf(ranges, ['text/plain', 'text/*', '*/*'], '0.0.4')
  return openMetrics > 0 && openMetrics >= text ? 'openmetrics' : 'text'
}

/** That of the most specific type that is named: a refusal of `text/plain` is not undone by a wildcard. */
function qualityOf(ranges: readonly Range[], types: readonly string[], version: string): number {
  for (const type of types) {
    const named = ranges.filter((range) => range.type === type && (range.version ?? version) === version)
    if (named.length > 0) return Math.max(...named.map(({ quality }) => quality))
  }
  return 0
}

/** None if its quality can't be read: it says nothing then. */
function rangeOf(element: string): Range[] {
  const [type = '', ...parts] = element.split(';').map((part) => part.trim())
  const parameters = new Map(parts.map(parameterOf))
  const quality = parameters.get('q') ?? '1'
  if (!QUALITY.test(quality)) return []
  return [{ type: type.toLowerCase(), version: parameters.get('version'), quality: Number(quality) }]
}

function parameterOf(part: string): [string, string] {
  const [name = '', value = ''] = part.split('=', 2).map((side) => side.trim())
  return [name.toLowerCase(), value.replace(/^"(.*)"$/, '$1')]
}
