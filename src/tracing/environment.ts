/**
 * Whether spans are exported, and how: OpenTelemetry's standard variables, read once at the start.
 *
 * They are off unless `OTEL_TRACES_EXPORTER` or an OTLP endpoint is set. What is wrong with them is told all at once;
 * the exporter by itself would fall back to a default, and nobody would know where the spans went. The values of
 * endpoints and headers may hold credentials, and are never shown.
 */
import fs from 'node:fs'
import { EXIT, ExitError } from '../errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

const PROTOCOLS = ['http/protobuf', 'http/json'] as const
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export interface TracingSettings {
  readonly protocol: (typeof PROTOCOLS)[number]
  readonly sampler: (typeof SAMPLERS)[number]
  /** 0 to 1, of the samplers that have one. */
  readonly ratio: number
  readonly serviceName: string
  readonly resourceAttributes: Readonly<Record<string, string>>
  readonly batch: BatchSettings
}

/** Where one is undefined, the exporter's own default is in force. */
export interface BatchSettings {
  readonly scheduledDelayMillis?: number
  readonly exportTimeoutMillis?: number
  readonly maxQueueSize?: number
  readonly maxExportBatchSize?: number
}

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
const HEADERS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']
const TIMEOUTS = ['OTEL_EXPORTER_OTLP_TIMEOUT', 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT']
const COMPRESSIONS = ['OTEL_EXPORTER_OTLP_COMPRESSION', 'OTEL_EXPORTER_OTLP_TRACES_COMPRESSION']
const FILES = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].flatMap((file) => [
  `OTEL_EXPORTER_OTLP_${file}`,
  `OTEL_EXPORTER_OTLP_TRACES_${file}`,
])

/** Undefined: no spans. Throws {@link ExitError}, with one line for each fault. */
export function readTracing(env: Environment): TracingSettings | undefined {
  return new Reading(env).settings()
}

class Reading {
  readonly #env: Environment
  readonly #faults: string[] = []

  constructor(env: Environment) {
    this.#env = env
  }

  settings(): TracingSettings | undefined {
    const exporter = this.#text('OTEL_TRACES_EXPORTER')
    if (this.#text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none') return undefined
    if (exporter === undefined && ENDPOINTS.every((name) => this.#text(name) === undefined)) return undefined
    if (exporter !== undefined) this.#oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none'])
    this.#checkExporter()
    const settings = {
      protocol:
        this.#oneOf('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', PROTOCOLS) ??
        this.#oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOLS) ??
        'http/protobuf',
      sampler: this.#oneOf('OTEL_TRACES_SAMPLER', SAMPLERS) ?? 'parentbased_always_on',
      ratio: this.#number('OTEL_TRACES_SAMPLER_ARG', 0, 1) ?? 1,
      ...this.#resource(),
      batch: this.#batch(),
    }
    if (this.#faults.length > 0) throw new ExitError(EXIT.usage, summary(this.#faults))
    return settings
  }

  /** What the exporter reads itself, and would pass over in silence where it can't. */
  #checkExporter(): void {
    for (const name of ENDPOINTS) {
      const url = URL.parse(this.#text(name) ?? 'http://unset')
      if (!/^https?:$/.test(url?.protocol ?? ''))
        this.#fault(name, 'is not an http:// or https:// URL. Write one, such as http://127.0.0.1:4318')
    }
    for (const name of HEADERS) this.#pairs(name, isField, 'a header field')
    for (const name of TIMEOUTS) this.#number(name, 1, Number.MAX_SAFE_INTEGER)
    for (const name of COMPRESSIONS) this.#oneOf(name, ['gzip', 'none'])
    for (const name of FILES) {
      const file = this.#text(name)
      if (file !== undefined && !isReadable(file))
        this.#fault(name, `names a file that can't be read: ${JSON.stringify(file)}`)
    }
  }

  #resource(): Pick<TracingSettings, 'serviceName' | 'resourceAttributes'> {
    const attributes = this.#pairs('OTEL_RESOURCE_ATTRIBUTES', (name) => name !== '', 'an attribute')
    const serviceName = this.#text('OTEL_SERVICE_NAME') ?? attributes['service.name'] ?? 'fencegate'
    return { serviceName, resourceAttributes: attributes }
  }

  #batch(): BatchSettings {
    const of = (key: keyof BatchSettings, name: string) => {
      const value = this.#number(name, 1, 2 ** 31 - 1)
      return value === undefined ? {} : { [key]: value }
    }
    return {
      ...of('scheduledDelayMillis', 'OTEL_BSP_SCHEDULE_DELAY'),
      ...of('exportTimeoutMillis', 'OTEL_BSP_EXPORT_TIMEOUT'),
      ...of('maxQueueSize', 'OTEL_BSP_MAX_QUEUE_SIZE'),
      ...of('maxExportBatchSize', 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
    }
  }

  /** An empty variable is as good as none, by the standard. */
  #text(name: string): string | undefined {
    const value = this.#env[name]?.trim()
    return value === '' ? undefined : value
  }

  #oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.#text(name)
    if (value === undefined || values.includes(value as T)) return value as T | undefined
    const known = `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`
    this.#fault(name, `is ${JSON.stringify(value)}, which fencegate doesn't have. Write ${known}`)
    return undefined
  }

  #number(name: string, min: number, max: number): number | undefined {
    const text = this.#text(name)
    if (text === undefined) return undefined
    const value = Number(text)
    if (value >= min && value <= max) return value
    this.#fault(name, `is ${JSON.stringify(text)}. Write a number from ${min} to ${max}`)
    return undefined
  }

  /** `a=1,b=2`, percent-encoded. */
  #pairs(
    name: string,
    accept: (key: string, value: string) => boolean,
    what: string,
  ): Record<string, string> {
    const parts = (this.#text(name) ?? '').split(',').filter((part) => part.trim() !== '')
    const pairs = parts.map(readPair)
    const bad = pairs.findIndex((pair) => !pair || !accept(...pair))
    if (bad >= 0)
      this.#fault(
        name,
        `has no name=value for ${what} at position ${bad + 1}. Percent-encode "," ";" and "="`,
      )
    return Object.fromEntries(pairs.filter((pair) => pair !== undefined))
  }

  #fault(name: string, fault: string): void {
    this.#faults.push(`${name}: ${fault}`)
  }
}

/** Undefined if the exporter would read another value, or none. */
function readPair(part: string): [string, string] | undefined {
  const at = part.indexOf('=')
  if (at < 0 || part.includes(';')) return undefined
  try {
    return [decodeURIComponent(part.slice(0, at).trim()), decodeURIComponent(part.slice(at + 1).trim())]
  } catch {
    return undefined
  }
}

function isField(name: string, value: string): boolean {
  return /^[!#$%&'*+.^`|~\w-]+$/.test(name) && /^[\t -~\x80-\xff]+$/.test(value)
}

function isReadable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.R_OK)
    return true
  } catch {
    return false
  }
}

function summary(faults: readonly string[]): string {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`
  return [`the environment of the span exporter has ${count}:`, ...faults.map((line) => `  ${line}`)].join(
    '\n',
  )
}
