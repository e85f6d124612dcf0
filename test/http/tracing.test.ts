/**
 * Trace context passes the sidecar byte for byte, with spans and without; spans tell what became of a request, and
 * nothing that a client wrote; a collector that hangs or is down delays no write.
 */
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Collector, type ReceivedSpan } from '../support/collector.ts'
import { encode, exchange, RawClient, type RawRequest } from '../support/raw-client.ts'
import { RecordingUpstream } from '../support/recording-upstream.ts'
import { claim, refusal } from '../support/scene.ts'
import { Sidecar, serve, settings, temporaryDirectory } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'

const REPORT_OTEL = path.join(import.meta.dirname, '../support/report-otel.ts')
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`
/** How long the sidecar tries to send spans. */
const EXPORT_MS = 2000
const ROUTES = [
  { name: 'ledger', match: { methods: ['PUT', 'POST', 'MKCOL'], path: '/ledger/*' } },
  { name: 'open', match: { path: '/open/*' }, guard: 'none' },
]

const upstream = await RecordingUpstream.start()
const collector = await Collector.start()
const preload = [REPORT_OTEL]
const plain = await Sidecar.start({ upstream: upstream.url, config: { routes: ROUTES }, preload })
const traced = await Sidecar.start({
  upstream: upstream.url,
  config: { routes: ROUTES },
  preload,
  env: {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_TIMEOUT: String(EXPORT_MS),
    OTEL_BSP_SCHEDULE_DELAY: '20',
  },
})
const send = (request: RawRequest) => exchange(traced.port, request)
beforeEach(() => upstream.forget())
afterAll(async () => {
  await upstream.close()
  await collector.down()
})

describe.each([
  ['without spans', plain],
  ['with spans', traced],
])('%s', (_how, sidecar) => {
  it.each<[string, readonly (readonly [string, string])[]]>([
    [
      'valid fields',
      [
        ['traceparent', TRACEPARENT],
        ['tracestate', 'a=1, b=2,,c@d=3'],
      ],
    ],
    [
      'names as they were written',
      [
        ['TraceParent', TRACEPARENT],
        ['TRACESTATE', 'rojo=00f067aa0ba902b7'],
      ],
    ],
    [
      'tracestate in pieces',
      [
        ['tracestate', 'a=1'],
        ['traceparent', TRACEPARENT],
        ['tracestate', 'b=2'],
      ],
    ],
    [
      'what is not valid',
      [
        ['traceparent', `00-${'0'.repeat(32)}-x-01`],
        ['tracestate', 'ü=,'],
      ],
    ],
    [
      'one that is there twice',
      [
        ['traceparent', TRACEPARENT],
        ['traceparent', TRACEPARENT],
      ],
    ],
    ['a later version', [['traceparent', `cc-${TRACE_ID}-${SPAN_ID}-01-what-the-future-will-be-like`]]],
    ['no field', []],
  ])('the resource gets %s, on a write and on a read', async (_what, headers) => {
    await exchange(sidecar.port, claim('t', 1, { target: '/ledger/a', headers }))
    await exchange(sidecar.port, { method: 'GET', target: '/open/a', headers })
    expect(upstream.requests).toHaveLength(2)
    for (const request of upstream.requests) {
      expect(request.headers.filter(([name]) => /^trace/i.test(name))).toEqual(headers)
    }
  })
})

it('what makes and sends spans is loaded only if they are on', () => {
  // The metrics' own package asks for the interface, which does nothing.
  expect(plain.process.stderr.replaceAll('loads @opentelemetry/api\n', '')).toBe('')
  expect(traced.process.stderr).toContain('loads @opentelemetry/sdk-trace')
  expect(traced.process.stderr).toContain('loads @opentelemetry/exporter-trace-otlp-http')
  expect(traced.process.stderr).not.toContain('otlp-proto')
})

it('variables with faults are refused at the start, all of them', async () => {
  const process = serve(settings(upstream.url, temporaryDirectory()), {
    env: { OTEL_TRACES_EXPORTER: 'zipkin', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  })
  expect(await process.exitCode()).toBe(64)
  expect(process.stderr).toMatch(/OTEL_TRACES_EXPORTER: .*\n.*OTEL_EXPORTER_OTLP_PROTOCOL: .*http\/protobuf/)
  expect(process.logs.map(({ msg }) => msg)).not.toContain('listening')
})

describe('a span', () => {
  const secrets = ['secret-task', 'secret-holder', 'secret-query', 'secret-header', 'secret-body', '7654321']
  const write = (token: number, request: RawRequest = {}) =>
    claim('secret-task', token, {
      target: '/ledger/secret-task?key=secret-query',
      body: 'secret-body',
      ...request,
      headers: [
        ['Fencing-Holder', 'secret-holder'],
        ['X-Other', 'secret-header'],
        ['traceparent', TRACEPARENT],
      ],
    })

  beforeAll(async () => {
    // Spans come in order: behind this one there is none of an earlier test.
    const last = 'f'.repeat(32)
    await send({ method: 'GET', headers: [['traceparent', `00-${last}-${SPAN_ID}-01`]] })
    await collector.changes.when(() => collector.spans.at(-1)?.traceId === last, 'the last span so far')
    collector.spans.length = 0
    await send(write(7654322))
    refusal(await send(write(7654321)), 412, 'stale-token')
    upstream.once(async (at) => {
      if (await at.wholeBody()) at.reset()
    })
    refusal(await send(write(7654322)), 502, 'outcome-unknown')
    await send(write(7654322, { method: 'MKCOL' }))
    await send({ method: 'GET', target: '/open/secret-query' })
    refusal(await send({ method: 'PUT', target: '/elsewhere', body: '' }), 428, 'token-required')
    await collector.received(6)
  })

  it.each<[number, Partial<ReceivedSpan>, Record<string, string | number>]>([
    [0, { name: 'PUT ledger', status: 0 }, { ...ofLedger(200), ...decided('forwarded', 'answered') }],
    [1, { name: 'PUT ledger', status: 0 }, { ...ofLedger(412), ...decided('stale-token') }],
    [2, { name: 'PUT ledger', status: 2 }, { ...ofLedger(502), ...decided('forwarded', 'unknown') }],
    [
      3,
      { name: 'HTTP ledger', status: 0 },
      { ...ofLedger(200), ...decided('forwarded', 'answered'), 'http.request.method': '_OTHER' },
    ],
    [4, { name: 'GET open' }, { ...ofLedger(200), 'fencegate.route': 'open', 'http.request.method': 'GET' }],
    [
      5,
      { name: 'PUT default', status: 0 },
      { ...ofLedger(428), 'fencegate.route': 'default', ...decided('token-required') },
    ],
  ])('of request %i says what became of it', (index, span, attributes) => {
    const received = collector.spans[index]
    expect(received).toMatchObject({ kind: 2, ...span, attributes })
    expect(Object.keys(received?.attributes ?? {}).sort()).toEqual(Object.keys(attributes).sort())
    expect(received?.durationMs).toBeGreaterThan(0)
  })

  it('is a child of the span that the client names, or begins a trace', () => {
    const [first, , , , read] = collector.spans
    expect(first).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID })
    expect(first?.spanId).toMatch(/^[\da-f]{16}$/)
    expect(first?.spanId).not.toBe(SPAN_ID)
    expect(read?.traceId).toMatch(/^[\da-f]{32}$/)
    expect(read?.traceId).not.toBe(TRACE_ID)
    expect(read?.parentSpanId ?? '').toBe('')
  })

  it('of a client that left tells the outcome, and no status', async () => {
    const held = upstream.hold()
    const before = collector.spans.length
    const client = await RawClient.connect(traced.port)
    void client.send(encode(write(7654322)))
    await held.arrived
    const left = async () => (await traced.metrics()).sum('fencegate_request_duration_seconds_count')
    const leftBefore = await left()
    client.close()
    await until(async () => (await left()) > leftBefore, 'the sidecar sees that the client has left')
    held.release()
    await collector.received(before + 1)
    const { attributes, status } = collector.spans[before] as ReceivedSpan
    const { 'http.response.status_code': code, ...rest } = ofLedger(200)
    expect({ status, attributes }).toEqual({
      status: 0,
      attributes: { ...rest, ...decided('forwarded', 'answered') },
    })
  })

  it('has nothing in it that a client wrote', () => {
    const sent = Buffer.concat(collector.uploads.map(({ body }) => body)).toString()
    expect(sent).toContain('stale-token')
    expect(secrets.filter((secret) => sent.includes(secret))).toEqual([])
  })
})

describe('a collector', () => {
  const write = async () => {
    expect((await send(claim('w', 1, { target: '/ledger/w' }))).status).toBe(200)
  }
  const lost = () => traced.logs.filter(({ msg }) => msg.startsWith('spans do not reach'))

  it('that hangs delays no write, and the log says once that spans are lost', async () => {
    collector.hang()
    const uploads = collector.uploads.length
    await write()
    await collector.changes.when(() => collector.uploads.length > uploads, 'an upload that gets no answer')
    for (let i = 0; i < 10; i++) await write()
    expect(lost(), 'the writes have waited until the upload was given up').toEqual([])
    await traced.process.log((line) => lost().includes(line), 'the line that spans are lost')
  })

  it('that is down delays none either', async () => {
    await collector.down()
    const began = performance.now()
    for (let i = 0; i < 10; i++) await write()
    expect(performance.now() - began).toBeLessThan(EXPORT_MS * 2)
  })

  it('that is back gets spans again', async () => {
    await collector.up()
    const before = collector.spans.length
    await write()
    await collector.received(before + 1)
    await traced.process.log(({ msg }) => msg === 'spans reach the collector again', 'the line that they do')
    expect(lost()).toHaveLength(1)
  })
})

it('what has not been sent when the sidecar stops is sent then, in protobuf unless something else is asked for', async () => {
  const before = collector.uploads.length
  const late = await Sidecar.start({
    upstream: upstream.url,
    env: {
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/custom/path`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'ledger-gate',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=trial',
      OTEL_BSP_SCHEDULE_DELAY: '600000',
    },
  })
  await exchange(late.port, claim('l', 1, { headers: [['traceparent', TRACEPARENT]] }))
  expect(await late.stop()).toBe(0)
  const uploads = collector.uploads.slice(before).filter(({ target }) => target === '/custom/path')
  expect(uploads).toHaveLength(1)
  expect(uploads[0]?.headers).toMatchObject({ 'content-type': 'application/x-protobuf', 'x-tenant': 'a b' })
  const { body } = uploads[0] as { body: Buffer }
  for (const part of [Buffer.from(TRACE_ID, 'hex'), 'PUT default', 'ledger-gate', 'trial', 'forwarded'])
    expect(body.includes(part), String(part)).toBe(true)
})

function ofLedger(status: number) {
  return {
    'fencegate.route': 'ledger',
    'http.request.method': 'PUT',
    'http.response.status_code': status,
  }
}

function decided(decision: string, outcome?: string) {
  return { 'fencegate.decision': decision, ...(outcome && { 'fencegate.outcome': outcome }) }
}
