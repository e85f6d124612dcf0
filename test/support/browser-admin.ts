/**
 * An admin port that says what a test wants: the dashboard's own files, and the API's answers from plain data that the
 * test changes. For what a real sidecar can't be brought to in time: an hour of events, lists of thousands, every refusal.
 */
import { once } from 'node:events'
import fs from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '../..')
const DASHBOARD = path.join(ROOT, 'src/admin/dashboard')
const VENDOR = path.join(ROOT, 'node_modules/uplot/dist')
/** As the admin port serves the page. */
export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const STORE = {
  ...{ path: 'data', schema: 3, createdAtMs: 1_700_000_000_000, created: false, unclean: true },
  ...{ tasks: 1, frozen: 0, unresolved: 0, commitSequence: 7, bytes: 94_208, walBytes: 0, freeBytes: 1e10 },
  ...{ floor: '0', floors: [{ prefix: 'daily/', floor: '12' }] },
}

export interface ScriptedTask {
  task: string
  mark: string
  recorded: boolean
  complete: boolean
  holder?: string
  frozen: boolean
  usedAtMs?: number
  openWrites: number
  oldestOpenWriteMs?: number
  handover?: { waitedMs: number }
  open?: object[]
  held?: { id: string; token: string }[]
}

export interface ScriptedEntry {
  kind: string
  task?: string
  token?: string
  data: object
  atMs?: number
}

type Answer = { status: number; body: object; headers?: Record<string, string> }

export class ScriptedAdmin {
  /** Merged over what is made of the tasks and unknown outcomes. */
  status: Record<string, unknown> = {}
  tasks: ScriptedTask[] = []
  unknown: { id: string; [field: string]: unknown }[] = []
  decisions: { route: string; decision: string; count: number }[] = []
  /** Takes precedence over everything but the files. */
  intercept: (method: string, target: string, request: IncomingMessage) => Answer | undefined = () =>
    undefined
  /** What was posted, in order. */
  readonly acts: { target: string; body: Record<string, string>; authorization: string | undefined }[] = []
  readonly #journal: (ScriptedEntry & { seq: number; atMs: number })[] = []
  readonly #streams = new Set<ServerResponse>()
  readonly #server = http.createServer((request, response) => void this.#serve(request, response))

  static async start(port = 0): Promise<ScriptedAdmin> {
    const admin = new ScriptedAdmin()
    admin.#server.listen(port, '127.0.0.1')
    await once(admin.#server, 'listening')
    return admin
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`
  }

  get streams(): number {
    return this.#streams.size
  }

  /** Notes entries, and passes them on to whoever reads the stream. */
  record(...entries: ScriptedEntry[]): void {
    let text = ''
    for (const entry of entries) {
      const noted = { atMs: Date.now(), ...entry, seq: (this.#journal.at(-1)?.seq ?? 0) + 1 }
      this.#journal.push(noted)
      text += `event: ${noted.kind}\nid: ${noted.seq}\ndata: ${JSON.stringify(noted)}\n\n`
    }
    this.#journal.splice(0, this.#journal.length - 1000)
    for (const stream of this.#streams) stream.write(text)
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', headers } = request
    const url = new URL(request.url ?? '/', this.url)
    if (!url.pathname.startsWith('/v1/')) return serveFile(url.pathname, response)
    const text = (await request.setEncoding('utf8').toArray()).join('')
    if (method === 'POST') {
      this.acts.push({ target: url.pathname, body: JSON.parse(text), authorization: headers.authorization })
    }
    const scripted = this.intercept(method, url.pathname, request)
    if (!scripted && url.pathname === '/v1/journal/stream') return this.#stream(response)
    const { status, body, headers: fields = {} } = scripted ?? { status: 200, body: this.#answer(url, text) }
    response.writeHead(status, { 'Content-Type': 'application/json', ...fields }).end(JSON.stringify(body))
  }

  #answer({ pathname, searchParams }: URL, text: string): object {
    const [, , kind, name, act] = pathname.split('/')
    if (kind === 'status') return this.#status()
    if (kind === 'unknown' && act) return { ...this.#resolve(name as string), ...JSON.parse(text) }
    if (kind === 'unknown') return { unknown: this.unknown }
    if (kind === 'store') return STORE
    if (kind === 'config')
      return { file: 'fencegate.yaml', config: { listen: '127.0.0.1:8470' }, warnings: ['a warning'] }
    if (kind === 'journal') return { journal: this.#newest(searchParams) }
    if (kind === 'tasks' && name) return this.#task(decodeURIComponent(name))
    if (kind === 'tasks') return this.#list(searchParams)
    return {}
  }

  #status() {
    const open = this.tasks.filter(({ openWrites }) => openWrites > 0)
    return {
      version: '0.1.0',
      phase: 'serving',
      grace: false,
      startedAtMs: 1_700_000_000_000,
      nowMs: Date.now(),
      openWrites: open.reduce((sum, { openWrites }) => sum + openWrites, 0),
      oldestOpenWriteMs: Math.max(0, ...open.map(({ oldestOpenWriteMs = 0 }) => oldestOpenWriteMs)),
      handoversPending: this.tasks.filter(({ handover }) => handover).length,
      tasks: this.tasks.length,
      frozen: this.tasks.filter(({ frozen }) => frozen).length,
      unresolved: this.unknown.length,
      commitSequence: 1,
      streams: this.#streams.size,
      decisions: this.decisions,
      staleRejections: this.decisions.find(({ decision }) => decision === 'stale-token')?.count ?? 0,
      raises: 0,
      commits: { count: 0, sumMs: 0 },
      upstreams: [{ origin: 'http://127.0.0.1:9200', state: 'reachable' }],
      ...this.status,
    }
  }

  #list(query: URLSearchParams) {
    const state = query.get('state')
    const wanted = this.tasks
      .filter(({ task }) => task.includes(query.get('search') ?? '') && task > (query.get('after') ?? ''))
      .filter((task) => {
        if (state === 'open') return task.openWrites > 0
        if (state === 'pending') return task.handover !== undefined
        return state !== 'frozen' || task.frozen
      })
      .toSorted((a, b) => (a.task < b.task ? -1 : 1))
    const limit = Number(query.get('limit') ?? 100)
    const tasks = wanted.slice(0, limit)
    return { tasks, next: wanted.length > limit ? tasks.at(-1)?.task : undefined }
  }

  #task(name: string) {
    const unrecorded = {
      task: name,
      mark: '0',
      recorded: false,
      complete: true,
      frozen: false,
      openWrites: 0,
    }
    const task = this.tasks.find((one) => one.task === name) ?? unrecorded
    const rejections = this.#newest(new URLSearchParams({ task: name, kind: 'rejection' })).slice(0, 20)
    return { open: [], held: [], ...task, passes: task.mark, rejections }
  }

  #newest(query: URLSearchParams) {
    const [task, kind] = [query.get('task'), query.get('kind')]
    return this.#journal
      .filter((entry) => (task === null || entry.task === task) && (kind === null || entry.kind === kind))
      .toReversed()
      .slice(0, Number(query.get('limit') ?? 100))
  }

  #resolve(id: string) {
    const place = this.unknown.findIndex((write) => write.id === id)
    return { ...this.unknown.splice(place, 1)[0], resolvedBy: 'tester' }
  }

  #stream(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
    this.#streams.add(response)
    response.once('close', () => this.#streams.delete(response))
  }
}

function serveFile(pathname: string, response: ServerResponse): void {
  const name = path.basename(pathname) || 'index.html'
  const file = path.join(pathname.startsWith('/vendor/') ? VENDOR : DASHBOARD, name)
  if (!fs.existsSync(file)) {
    response.writeHead(404).end()
    return
  }
  const type = TYPES[path.extname(name)] ?? 'application/octet-stream'
  response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': CSP }).end(fs.readFileSync(file))
}
