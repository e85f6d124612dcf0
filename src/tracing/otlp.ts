/**
 * Spans over OTLP: one server span for each request, made when the request has ended. Loaded only if spans are on.
 *
 * Nothing waits for a collector. Spans queue up to a bound, in batches of their own; what a collector that is slow or
 * down doesn't take is dropped, and the log says so once until it works again.
 */
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import type { TracingSettings } from './environment.ts'
import type { RequestFacts, Spans } from './spans.ts'
import type { Traceparent } from './traceparent.ts'

/** Those that the semantic conventions list; a client can choose any other. */
const METHODS = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE']

export async function startSpans(settings: TracingSettings, version: string, log: Logger): Promise<Spans> {
  const { resourceAttributes, serviceName, batch } = settings
  const exporter = new WatchedExporter(await exporterFor(settings.protocol), log)
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.version': version,
        ...resourceAttributes,
        'service.name': serviceName,
      }),
    ),
    sampler: samplerFor(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...batch })],
  })
  return new OtlpSpans(provider, provider.getTracer('fencegate', version))
}

class OtlpSpans implements Spans {
  readonly #provider: TracerProvider
  readonly #tracer: Tracer

  constructor(provider: TracerProvider, tracer: Tracer) {
    this.#provider = provider
    this.#tracer = tracer
  }

  record({ parent, durationMs, route, method, status, decision, outcome }: RequestFacts): void {
    const known = METHODS.includes(method)
    const endedAtMs = Date.now()
    const span = this.#tracer.startSpan(
      `${known ? method : 'HTTP'} ${route}`,
      {
        kind: SpanKind.SERVER,
        startTime: endedAtMs - durationMs,
        attributes: {
          'fencegate.route': route,
          'http.request.method': known ? method : '_OTHER',
          ...(status !== undefined && { 'http.response.status_code': status }),
          ...(decision !== undefined && { 'fencegate.decision': decision }),
          ...(outcome !== undefined && { 'fencegate.outcome': outcome }),
        },
      },
      parent ? trace.setSpanContext(ROOT_CONTEXT, remote(parent)) : ROOT_CONTEXT,
    )
    // To a server a client's mistake is no error, and neither is a stale write that it refused.
    if ((status ?? 0) >= 500 || outcome === 'unknown') span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(endedAtMs)
  }

  async close(timeoutMs: number): Promise<void> {
    // What can't be sent has been logged.
    const sent = this.#provider.shutdown().catch(() => {})
    await Promise.race([sent, new Promise((resolve) => setTimeout(resolve, timeoutMs))])
  }
}

function remote({ traceId, spanId, sampled }: Traceparent) {
  return { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true }
}

/** Says in the log when spans no longer arrive, and when they do again. */
class WatchedExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: Logger
  #failing = false

  constructor(exporter: SpanExporter, log: Logger) {
    this.#exporter = exporter
    this.#log = log
  }

  export(...[spans, done]: Parameters<SpanExporter['export']>): void {
    this.#exporter.export(spans, (result) => {
      this.#note(result.error)
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  #note(error: Error | undefined): void {
    const failed = error !== undefined
    if (failed === this.#failing) return
    this.#failing = failed
    if (failed) this.#log.warn({ reason: error.message }, 'spans do not reach the collector, and are dropped')
    else this.#log.info('spans reach the collector again')
  }
}

/** It reads where to, and with which headers, from the variables that were checked. */
async function exporterFor(protocol: TracingSettings['protocol']): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter()
}

function samplerFor({ sampler, ratio }: TracingSettings): Sampler {
  const name = sampler.replace(/^parentbased_/, '')
  const root = rootSampler(name, ratio)
  return name === sampler ? root : new ParentBasedSampler({ root })
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler()
  return name === 'traceidratio' ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler()
}
