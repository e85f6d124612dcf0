/** What is read of `traceparent` and of OpenTelemetry's variables. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Environment, readTracing } from '../../src/tracing/environment.ts'
import { readTraceparent } from '../../src/tracing/traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('traceparent', () => {
  it.each([
    ['01', true],
    ['00', false],
    ['03', true],
    ['fe', false],
  ])('with the flags %s is read', (flags, sampled) => {
    expect(readTraceparent(`00-${TRACE}-${SPAN}-${flags}`)).toEqual({ traceId: TRACE, spanId: SPAN, sampled })
  })

  it.each([
    [undefined],
    [''],
    [`00-${'0'.repeat(32)}-${SPAN}-01`],
    [`00-${TRACE}-${'0'.repeat(16)}-01`],
    [`01-${TRACE}-${SPAN}-01`],
    [`ff-${TRACE}-${SPAN}-01`],
    [`00-${TRACE.toUpperCase()}-${SPAN}-01`],
    [`00-${TRACE}-${SPAN}-1`],
    [`00-${TRACE}-${SPAN}-01-`],
    [`00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    [`00-${TRACE.slice(1)}"-${SPAN}-01`],
  ])('%s is none', (field) => {
    expect(readTraceparent(field)).toBeUndefined()
  })
})

describe('spans are off', () => {
  it.each<[string, Environment]>([
    ['with nothing set', {}],
    ['with nothing that says where to', { OTEL_SERVICE_NAME: 'a', OTEL_TRACES_SAMPLER: 'nonsense' }],
    ['with empty variables', { OTEL_TRACES_EXPORTER: '', OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    ['with none', { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }],
    ['if disabled', { OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' }],
  ])('%s', (_what, env) => {
    expect(readTracing(env)).toBeUndefined()
  })
})

describe('spans are on', () => {
  it('with an exporter, and with an endpoint of either kind', () => {
    const defaults = {
      protocol: 'http/protobuf',
      sampler: 'parentbased_always_on',
      ratio: 1,
      serviceName: 'fencegate',
      resourceAttributes: {},
      batch: {},
    }
    expect(readTracing({ OTEL_TRACES_EXPORTER: 'otlp' })).toEqual(defaults)
    expect(readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })).toEqual(defaults)
    expect(readTracing({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/v1/traces' })).toEqual(defaults)
    expect(readTracing({ OTEL_SDK_DISABLED: 'yes', OTEL_TRACES_EXPORTER: 'otlp' })).toEqual(defaults)
  })

  it('as the variables say', () => {
    expect(
      readTracing({
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YQ==, x-tenant=a',
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
        OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=a%2Cb',
        OTEL_SERVICE_NAME: 'ledger-gate',
        OTEL_BSP_SCHEDULE_DELAY: '100',
        OTEL_BSP_MAX_QUEUE_SIZE: '64',
      }),
    ).toEqual({
      protocol: 'http/json',
      sampler: 'parentbased_traceidratio',
      ratio: 0.25,
      serviceName: 'ledger-gate',
      resourceAttributes: { 'service.name': 'other', 'deployment.environment.name': 'a,b' },
      batch: { scheduledDelayMillis: 100, maxQueueSize: 64 },
    })
  })
})

describe('a fault', () => {
  const ON = { OTEL_TRACES_EXPORTER: 'otlp' }

  it.each<[string, string, RegExp]>([
    ['OTEL_TRACES_EXPORTER', 'zipkin', /"zipkin".*otlp or none/],
    ['OTEL_TRACES_EXPORTER', 'otlp,console', /otlp or none/],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /"grpc".*http\/protobuf or http\/json/],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'HTTP/JSON', /http\/protobuf or http\/json/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', /http:\/\//],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'grpc://collector:4317', /http:\/\//],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=1,authorization', /position 2/],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=%0d%0ab', /position 1/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=1', /position 1/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=1;b', /Percent-encode/],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s', /"10s".*number/],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd', /gzip or none/],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', path.join(os.tmpdir(), 'no', 'such', 'file'), /can't be read/],
    ['OTEL_RESOURCE_ATTRIBUTES', 'a=1,b=%zz', /position 2/],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /always_on/],
    ['OTEL_TRACES_SAMPLER_ARG', '1.1', /from 0 to 1/],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0', /from 1/],
  ])('of %s=%s is named, with its remedy', (name, value, fault) => {
    const read = () => readTracing({ ...ON, [name]: value })
    expect(read).toThrow(fault)
    expect(read).toThrow(
      expect.objectContaining({ exitCode: 64, message: expect.stringContaining(`${name}: `) }),
    )
  })

  it('is told beside all the others, and shows no secret', () => {
    const env = {
      ...ON,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://user:s3cret@collector',
      OTEL_EXPORTER_OTLP_HEADERS: 's3cret',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    }
    expect(() => readTracing(env)).toThrow(
      /^the environment of the span exporter has 3 faults:(\n {2}OTEL_.+){3}$/,
    )
    expect(() => readTracing(env)).not.toThrow(/s3cret/)
  })

  it('is none where a file can be read', () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-tracing-'))
    const file = path.join(directory, 'ca.pem')
    fs.writeFileSync(file, '')
    expect(readTracing({ ...ON, OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: file })).toBeDefined()
    fs.rmSync(directory, { recursive: true })
  })
})
