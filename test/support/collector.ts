/** A collector of spans: records what it is sent over OTLP, or takes it and never answers, or is down. */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import zlib from 'node:zlib'
import { Changes, DEADLINE_MS } from './wait.ts'

export interface Upload {
  readonly target: string
  readonly headers: http.IncomingHttpHeaders
  /** Uncompressed. */
  readonly body: Buffer
}

/** A span of an upload in JSON, with what tests look at. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  /** 2: a server's. */
  readonly kind: number
  readonly durationMs: number
  /** 2: an error. */
  readonly status: number
  readonly attributes: Readonly<Record<string, string | number>>
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

export class Collector {
  readonly uploads: Upload[] = []
  /** Of the uploads in JSON. */
  readonly spans: ReceivedSpan[] = []
  readonly changes = new Changes()
  #answers = true
  readonly #server = http.createServer((req, res) => void this.#take(req, res))

  static async start(): Promise<Collector> {
    const collector = new Collector()
    await collector.up(0)
    return collector
  }

  async up(port = this.port): Promise<void> {
    this.#answers = true
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.port = port === 0 ? (this.#server.address() as AddressInfo).port : port
  }

  port = 0

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Takes what comes from now on, and answers nothing. */
  hang(): void {
    this.#answers = false
  }

  /** Resolves once this many spans have come in all. */
  received(count: number): Promise<void> {
    return this.changes.when(() => this.spans.length >= count, `${count} spans at the collector`, DEADLINE_MS)
  }

  /** Nothing listens any more. */
  async down(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    req.on('error', () => {})
    for await (const chunk of req) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    const body = req.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(bytes) : bytes
    this.uploads.push({ target: req.url as string, headers: req.headers, body })
    if (req.headers['content-type'] === 'application/json') this.spans.push(...spansOf(body))
    this.changes.notify()
    if (this.#answers) res.writeHead(200, { 'content-type': req.headers['content-type'] }).end()
  }
}

function spansOf(body: Buffer): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString())
  const raw = resourceSpans.flatMap(({ scopeSpans }: never) => scopeSpans as never[])
  return raw
    .flatMap(({ spans }: { spans: never[] }) => spans)
    .map((span: never) => {
      const { status, attributes, startTimeUnixNano, endTimeUnixNano, ...rest } = span as {
        readonly status: { readonly code: number }
        readonly attributes: readonly Attribute[]
        readonly startTimeUnixNano: string
        readonly endTimeUnixNano: string
      } & ReceivedSpan
      return {
        ...rest,
        status: status.code,
        durationMs: Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6,
        attributes: Object.fromEntries(
          attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']),
        ),
      }
    })
}
