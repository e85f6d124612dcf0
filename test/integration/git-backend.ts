/**
 * Git's own server over smart HTTP: `git http-backend` behind a small HTTP server that runs it as a CGI program
 * (RFC 3875). Bodies are passed on as they come: a gzipped one is http-backend's to unpack, and a chunked one has no
 * CONTENT_LENGTH and ends with the program's input.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http, { type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { temporaryDirectory } from '../support/sidecar.ts'
import { git } from './git.ts'

/** A request at the backend. */
export interface GitRequest {
  readonly method: string
  readonly target: string
  readonly headers: http.IncomingHttpHeaders
  /** Of its body, as it arrived. */
  bytes: number
}

export class GitBackend {
  readonly requests: GitRequest[] = []
  /** What the program wrote to its error output. */
  errors = ''
  readonly #root = temporaryDirectory()
  readonly #server: Server

  private constructor() {
    this.#server = http.createServer((req, res) => this.#serve(req, res))
  }

  static async start(): Promise<GitBackend> {
    const backend = new GitBackend()
    backend.#server.listen(0, '127.0.0.1')
    await once(backend.#server, 'listening')
    return backend
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Makes an empty repository that anybody may push to. */
  async create(name: string): Promise<string> {
    const directory = path.join(this.#root, name)
    await git(this.#root, 'init', '--quiet', '--bare', '--initial-branch=main', directory)
    await git(directory, 'config', 'http.receivepack', 'true')
    return directory
  }

  /** Requests that ran this service, such as `git-receive-pack`. */
  posts(service: string): GitRequest[] {
    return this.requests.filter(({ method, target }) => method === 'POST' && target.endsWith(`/${service}`))
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const request: GitRequest = {
      method: req.method as string,
      target: req.url as string,
      headers: req.headers,
      bytes: 0,
    }
    this.requests.push(request)
    const program = spawn('git', ['http-backend'], { env: this.#variables(req) })
    program.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    // A program that has seen enough leaves the rest of its input unread.
    program.stdin.on('error', () => {})
    res.once('close', () => program.kill())
    req.on('data', (bytes: Buffer) => {
      request.bytes += bytes.length
    })
    req.pipe(program.stdin)
    void answer(program.stdout, res)
  }

  #variables({ method, url, headers }: IncomingMessage): Record<string, string> {
    const { pathname, search } = new URL(url as string, 'http://backend')
    const variables: Record<string, string | undefined> = {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: this.#root,
      GIT_HTTP_EXPORT_ALL: '1',
      GATEWAY_INTERFACE: 'CGI/1.1',
      SERVER_PROTOCOL: 'HTTP/1.1',
      REMOTE_ADDR: '127.0.0.1',
      REQUEST_METHOD: method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: headers['content-type'],
      CONTENT_LENGTH: headers['content-length'],
      HTTP_CONTENT_ENCODING: headers['content-encoding'],
      GIT_PROTOCOL: headers['git-protocol'] as string | undefined,
    }
    return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >
  }
}

/** Turns a CGI program's output into an answer: header lines, an empty one, and the body. */
async function answer(output: NodeJS.ReadableStream, res: ServerResponse): Promise<void> {
  let head = Buffer.alloc(0)
  for await (const bytes of output as AsyncIterable<Buffer>) {
    if (res.headersSent) {
      if (!res.write(bytes)) await once(res, 'drain')
      continue
    }
    head = Buffer.concat([head, bytes])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) continue
    let status = 200
    for (const line of head.toString('latin1', 0, end).split('\r\n')) {
      const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(line) ?? []
      if (name === 'Status') status = Number.parseInt(value, 10)
      else res.setHeader(name, value)
    }
    res.writeHead(status)
    res.write(head.subarray(end + 4))
  }
  if (!res.headersSent) res.writeHead(500)
  res.end()
}
