/**
 * A strict reader of OpenMetrics 1.0.0 text, for tests: what the specification says that an exposer MUST do, and the
 * canonical numbers of `le` that it says one should. Knows counters, gauges and histograms, and no other type.
 */

export interface Exemplar {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** Seconds since the epoch. */
  readonly timestamp: number
}

export interface OpenSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly exemplar: Exemplar | undefined
}

export interface OpenFamily {
  readonly name: string
  readonly type: string
  readonly samples: readonly OpenSample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"'
const LABELS = `\\{(?:${LABEL}(?:,${LABEL})*)?\\}`
const NUMBER = '[+-]?(?:[0-9]+(?:\\.[0-9]*)?(?:e[+-]?[0-9]+)?|Inf)|NaN'
const SAMPLE = new RegExp(
  `^(${NAME})(${LABELS})? (${NUMBER})(?: # (${LABELS}) (${NUMBER}) ([0-9]+(?:\\.[0-9]+)?))?$`,
)
const METADATA = new RegExp(`^# (TYPE|HELP|UNIT) (${NAME}) (.*)$`)
const HELP = /^(?:[^"\\]|\\[\\"n])*$/
const CANONICAL_BOUND = /^(?:[0-9]+\.[0-9]+|[0-9](?:\.[0-9]+)?e[+-][0-9]{2,}|\+Inf)$/
const MAX_EXEMPLAR = 128

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  gauge: [''],
  counter: ['_total', '_created'],
  histogram: ['_bucket', '_sum', '_count', '_created'],
}

interface Draft {
  readonly name: string
  readonly type: string
  readonly samples: OpenSample[]
  helped: boolean
}

/** Throws an error that names the line. */
export function parseOpenMetrics(text: string): Map<string, OpenFamily> {
  if (!text.endsWith('\n# EOF\n')) throw new Error('does not end with # EOF')
  const families = new Map<string, Draft>()
  let family: Draft | undefined
  for (const line of text.slice(0, -'# EOF\n'.length).split('\n').slice(0, -1)) {
    try {
      if (line.startsWith('#')) family = metadata(line, family, families)
      else addSample(line, family)
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${line}`)
    }
  }
  for (const { name, type, samples } of families.values()) {
    if (type === 'histogram') checkHistogram(name, samples)
  }
  return families
}

/** A family begins with its first line of metadata, in any order, and never comes again. */
function metadata(line: string, open: Draft | undefined, families: Map<string, Draft>): Draft {
  const [, kind, name, rest] = METADATA.exec(line) ?? []
  if (name === undefined || rest === undefined) fail('neither a sample nor metadata')
  if (kind === 'UNIT') fail('a unit, which nobody expects')
  if (kind === 'HELP') {
    if (!HELP.test(rest)) fail('an escape that there is not')
    return begin(name, 'unknown', true, families)
  }
  if (open?.name !== name || open.type !== 'unknown' || open.samples.length > 0) fail('a type without help')
  if (!(rest in SUFFIXES)) fail('a type that nobody expects')
  const typed = { ...open, type: rest }
  families.set(name, typed)
  return typed
}

function begin(name: string, type: string, helped: boolean, families: Map<string, Draft>): Draft {
  if (families.has(name)) fail('a family that was there before')
  for (const other of families.values()) {
    const clash = (a: string, aType: string, b: string) => SUFFIXES[aType]?.some((suffix) => a + suffix === b)
    if (clash(other.name, other.type, name)) fail(`a name that a sample of ${other.name} may have`)
  }
  const family = { name, type, samples: [], helped }
  families.set(name, family)
  return family
}

function addSample(line: string, family: Draft | undefined): void {
  const [, name, labelText, value, exemplarLabels, exemplarValue, timestamp] = SAMPLE.exec(line) ?? []
  if (name === undefined || value === undefined) fail('not a sample')
  if (!family?.helped) fail('a sample without a family')
  const suffix = name.slice(family.name.length)
  if (!name.startsWith(family.name) || !SUFFIXES[family.type]?.includes(suffix)) fail('of another family')
  const labels = labelsOf(labelText)
  if ('le' in labels !== (suffix === '_bucket')) fail('le belongs to buckets, and to nothing else')
  if (family.samples.some((other) => other.name === name && same(other.labels, labels))) fail('a second time')
  const number = numberOf(value)
  if (family.type !== 'gauge' && !(number >= 0)) fail('less than nothing')
  let exemplar: Exemplar | undefined
  if (exemplarLabels !== undefined) {
    if (suffix !== '_total' && suffix !== '_bucket') fail('an exemplar where none may be')
    exemplar = {
      labels: labelsOf(exemplarLabels),
      value: numberOf(exemplarValue as string),
      timestamp: Number(timestamp),
    }
    const characters = Object.entries(exemplar.labels).flat().join('')
    if ([...characters].length > MAX_EXEMPLAR) fail('an exemplar that is too long')
  }
  family.samples.push({ name, labels, value: number, exemplar })
}

/** Buckets of each series in order, cumulative, each with its exemplar within it, and as many as are counted. */
function checkHistogram(name: string, samples: readonly OpenSample[]): void {
  const groups = new Map<string, OpenSample[]>()
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels
    const key = JSON.stringify(Object.entries(labels).sort())
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  for (const [key, group] of groups) {
    const where = `${name} ${key}`
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
    let below = { bound: -Infinity, count: 0 }
    for (const { labels, value, exemplar } of buckets) {
      if (!CANONICAL_BOUND.test(labels.le as string)) fail(`${where}: le is not canonical: ${labels.le}`)
      const bound = numberOf(labels.le as string)
      if (bound <= below.bound || value < below.count) fail(`${where}: not cumulative at ${labels.le}`)
      if (exemplar && !(exemplar.value > below.bound && exemplar.value <= bound))
        fail(`${where}: an exemplar of ${exemplar.value} in the bucket to ${labels.le}`)
      below = { bound, count: value }
    }
    if (below.bound !== Infinity) fail(`${where}: no bucket to +Inf`)
    const count = group.find((sample) => sample.name === `${name}_count`)?.value
    if (count !== below.count) fail(`${where}: counts ${count}, and has ${below.count} in its buckets`)
    if (!group.some((sample) => sample.name === `${name}_sum`)) fail(`${where}: no sum`)
  }
}

function labelsOf(text: string | undefined): Record<string, string> {
  const labels: Record<string, string> = {}
  for (const [, name, value] of (text ?? '').matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
    if ((name as string) in labels) fail('a label twice')
    labels[name as string] = (value as string).replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c))
  }
  return labels
}

function numberOf(text: string): number {
  return Number(text.replace('Inf', 'Infinity'))
}

function same(a: object, b: object): boolean {
  return JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort())
}

function fail(why: string): never {
  throw new Error(why)
}
