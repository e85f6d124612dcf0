/** Spans by themselves: which are sampled, and how long a stop waits for a collector that doesn't answer. */
import { pino } from 'pino'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { type Environment, readTracing, type TracingSettings } from '../../src/tracing/environment.ts'
import { startSpans } from '../../src/tracing/otlp.ts'
import type { Spans } from '../../src/tracing/spans.ts'
import { Collector } from '../support/collector.ts'
import { within } from '../support/wait.ts'

const collector = await Collector.start()
afterEach(() => {
  collector.spans.length = 0
  vi.unstubAllEnvs()
})
afterAll(() => collector.down())

function start(variables: Environment = {}): Promise<Spans> {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...variables,
  }
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  return startSpans(readTracing(env) as TracingSettings, '1.2.3', pino({ level: 'silent' }))
}

/** A request of a client that records its part of the trace, of one that doesn't, and of one without a trace. */
function recordThree(spans: Spans): void {
  const facts = {
    durationMs: 1,
    route: 'r',
    method: 'PUT',
    status: 200,
    decision: 'forwarded',
    outcome: 'answered',
  }
  const spanId = '00f067aa0ba902b7'
  const traced = (digit: string, sampled: boolean) => ({ traceId: digit.repeat(32), spanId, sampled })
  spans.record({ ...facts, parent: traced('a', true), route: 'sampled' })
  spans.record({ ...facts, parent: traced('b', false), route: 'unsampled' })
  spans.record({ ...facts, parent: undefined, route: 'root' })
}

describe('the sampler', () => {
  it.each<[string | undefined, string | undefined, readonly string[]]>([
    [undefined, undefined, ['sampled', 'root']],
    ['always_on', undefined, ['sampled', 'unsampled', 'root']],
    ['always_off', undefined, []],
    ['traceidratio', '1', ['sampled', 'unsampled', 'root']],
    ['traceidratio', '0', []],
    ['parentbased_always_off', undefined, ['sampled']],
    ['parentbased_traceidratio', '0', ['sampled']],
    ['parentbased_traceidratio', undefined, ['sampled', 'root']],
  ])('%s %s takes %j', async (sampler, argument, taken) => {
    const spans = await start({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument })
    recordThree(spans)
    await spans.close(5000)
    expect(collector.spans.map(({ name }) => name)).toEqual(taken.map((route) => `PUT ${route}`))
  })
})

it('a stop waits no longer than it is told for a collector that takes spans and says nothing', async () => {
  const spans = await start()
  collector.hang()
  recordThree(spans)
  await within(spans.close(50), 'the end of the spans', 5000)
  expect(collector.spans).not.toEqual([])
})
