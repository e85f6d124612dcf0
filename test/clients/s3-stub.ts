/**
 * A stub of S3, not S3 itself: an HTTP server that holds objects in memory and takes a request only if its
 * signature, recomputed from what arrived, and its payload's hash or checksum are right. It covers what the tests
 * here send: PutObject, GetObject, HeadObject, DeleteObject, CopyObject and multipart uploads, path-style.
 * See `s3-signature.ts` and `s3-payload.ts` for what they verify and what not.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { HeaderPair } from '../support/wire.ts'
import { payloadOf } from './s3-payload.ts'
import { type SignedRequest, signatureFault, valuesOf } from './s3-signature.ts'

export interface ReceivedRequest extends SignedRequest {
  values(name: string): string[]
  /** What it was refused for. */
  fault?: string
}

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

export class S3Stub {
  /** Requests whose head has arrived, in order. */
  readonly requests: ReceivedRequest[] = []
  /** By `bucket/key`, decoded. */
  readonly objects = new Map<string, Buffer>()
  /** Runs between each whole request and its answer. It may destroy the socket: then there is none. */
  before: ((request: ReceivedRequest, socket: Socket) => Promise<void> | void) | undefined
  readonly #uploads = new Map<string, Map<number, Buffer>>()
  readonly #server: Server

  private constructor() {
    this.#server = http.createServer((req, res) => void this.#serve(req, res))
  }

  static async start(): Promise<S3Stub> {
    const stub = new S3Stub()
    stub.#server.listen(0, '127.0.0.1')
    await once(stub.#server, 'listening')
    return stub
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get faults(): string[] {
    return this.requests.flatMap(({ fault }) => fault ?? [])
  }

  forget(): void {
    this.requests.length = 0
    this.before = undefined
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { rawHeaders } = req
    const headers = rawHeaders.flatMap((name, i): HeaderPair[] =>
      i % 2 === 0 ? [[name, rawHeaders[i + 1] as string]] : [],
    )
    const request: ReceivedRequest = {
      method: req.method as string,
      target: req.url as string,
      headers,
      values: (name) => valuesOf({ headers }, name),
    }
    this.requests.push(request)
    const { status = 200, body, headers: fields } = await this.#answer(request, req)
    res.writeHead(status, { 'x-amz-request-id': `stub-${this.requests.length}`, ...fields }).end(body)
  }

  async #answer(request: ReceivedRequest, req: IncomingMessage): Promise<Answer> {
    try {
      const body = await buffer(req)
      await this.before?.(request, req.socket)
      const fault = signatureFault(request)
      if (fault) {
        request.fault = fault
        return refused(403, 'SignatureDoesNotMatch', fault)
      }
      return this.#act(request, payloadOf(request, body))
    } catch (error) {
      request.fault = String(error)
      return refused(400, 'BadDigest', String(error))
    }
  }

  #act(request: ReceivedRequest, payload: Buffer): Answer {
    const { pathname, searchParams } = new URL(request.target, 'http://stub')
    const key = decodeURIComponent(request.target.slice(1).replace(/\?.*$/, ''))
    const upload = searchParams.get('uploadId')
    if (searchParams.has('uploads')) return this.#begin(key)
    if (upload !== null) return this.#multipart(request.method, key, upload, searchParams, payload)
    switch (request.method) {
      case 'PUT':
        return this.#put(request, key, payload)
      case 'DELETE':
        this.objects.delete(key)
        return { status: 204 }
      default: {
        const object = this.objects.get(key)
        if (!object) return refused(404, 'NoSuchKey', pathname)
        return { headers: { etag: etag(object), 'content-length': String(object.length) }, body: object }
      }
    }
  }

  #put(request: ReceivedRequest, key: string, payload: Buffer): Answer {
    const [source] = request.values('x-amz-copy-source')
    if (source === undefined) return this.#store(key, payload)
    const object = this.objects.get(decodeURIComponent(source.replace(/^\//, '')))
    if (!object) return refused(404, 'NoSuchKey', source)
    this.#store(key, object)
    return { body: `<CopyObjectResult><ETag>${etag(object)}</ETag></CopyObjectResult>` }
  }

  #store(key: string, object: Buffer): Answer {
    this.objects.set(key, object)
    return { headers: { etag: etag(object) } }
  }

  #begin(key: string): Answer {
    const id = `upload-${this.#uploads.size + 1}`
    this.#uploads.set(id, new Map())
    return {
      body: `<InitiateMultipartUploadResult><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    }
  }

  #multipart(method: string, key: string, id: string, query: URLSearchParams, payload: Buffer): Answer {
    const parts = this.#uploads.get(id)
    if (!parts) return refused(404, 'NoSuchUpload', id)
    if (method === 'PUT') {
      parts.set(Number(query.get('partNumber')), payload)
      return { headers: { etag: etag(payload) } }
    }
    if (method === 'DELETE') {
      this.#uploads.delete(id)
      return { status: 204 }
    }
    const wanted = [...payload.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber>/g)].map(([, n]) =>
      Number(n),
    )
    const object = Buffer.concat(wanted.map((number) => parts.get(number) ?? Buffer.alloc(0)))
    this.#store(key, object)
    return {
      body: `<CompleteMultipartUploadResult><ETag>${etag(object)}</ETag></CompleteMultipartUploadResult>`,
    }
  }
}

const etag = (object: Buffer) => `"${createHash('md5').update(object).digest('hex')}"`

const refused = (status: number, code: string, message: string): Answer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  body: `<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
})
