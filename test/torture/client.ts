/** Sends requests to the sidecar as a worker does, and logs what was asked and what was told. */
import { createHash } from 'node:crypto'
import http from 'node:http'
import { type ClientLine, EventLog, now, type ToldLine } from '../support/history-log.ts'
import { CLIENT_TIMEOUT_MS } from './limits.ts'

export interface Claim {
  readonly task: string
  readonly token: bigint
  readonly holder?: string | undefined
}

export interface Write extends Claim {
  readonly route: string
  /** What the resource is to do with it; see `behaviour.ts`. */
  readonly behave: string
  /** Sent one after the other, with a pause between. */
  readonly pieces: readonly string[]
  readonly pauseMs: number
  /** The client leaves so long after it began, if it isn't told by then. */
  readonly leaveAfterMs?: number | undefined
}

interface Request {
  readonly id: string
  readonly path: string
  readonly headers: http.OutgoingHttpHeaders
  readonly pieces: readonly string[]
  readonly pauseMs: number
  readonly leaveAfterMs: number
}

export class Client {
  readonly #log: EventLog<ClientLine>
  readonly #name: string
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 6 })
  #requests = 0
  port = 0
  /** Requests that have not been told anything. */
  waiting = 0

  /** @param name starts the id of each request; of no other client. */
  constructor(name: string, logFile: string) {
    this.#name = name
    this.#log = new EventLog(logFile)
  }

  write({ route, behave, pieces, pauseMs, leaveAfterMs, ...claim }: Write): Promise<ToldLine> {
    const id = this.#id()
    const headers = { behave, 'idempotency-key': id }
    return this.#ask(claim, route, {
      id,
      path: `/${route}/${id}`,
      headers,
      pieces,
      pauseMs,
      leaveAfterMs: leaveAfterMs ?? CLIENT_TIMEOUT_MS,
    })
  }

  announce(claim: Claim): Promise<ToldLine> {
    const id = this.#id()
    const path = '/.well-known/fencegate/announce'
    const nothing = { headers: {}, pieces: [], pauseMs: 0, leaveAfterMs: CLIENT_TIMEOUT_MS }
    return this.#ask(claim, 'announce', { id, path, ...nothing })
  }

  #id(): string {
    return `${this.#name}-${++this.#requests}`
  }

  async #ask(claim: Claim, route: string, request: Request): Promise<ToldLine> {
    const { id, pieces } = request
    const { task, holder } = claim
    const token = claim.token.toString()
    const sha256 = createHash('sha256').update(pieces.join('')).digest('hex')
    this.#log.write({ e: 'ask', id, task, token, holder, route, sha256, at: now() })
    const headers = { 'fencing-task': task, 'fencing-token': token, 'fencing-holder': holder }
    this.waiting++
    const told = await this.#send({ ...request, headers: { ...request.headers, ...defined(headers) } })
    this.waiting--
    this.#log.write({ e: 'told', id, at: now(), told })
    return told
  }

  #send({ id, path, headers, pieces, pauseMs, leaveAfterMs }: Request): Promise<ToldLine> {
    return new Promise((resolve) => {
      const nothing = () => {
        clearTimeout(leave)
        resolve({ kind: 'nothing' })
      }
      const options = {
        port: this.port,
        host: '127.0.0.1',
        method: 'POST',
        path,
        headers,
        agent: this.#agent,
      }
      const request = http.request(options, (response) => {
        const chunks: Buffer[] = []
        response
          .on('data', (chunk) => chunks.push(chunk))
          .on('error', nothing)
          .on('close', nothing)
        response.on('end', () => {
          if (!response.complete) return
          clearTimeout(leave)
          resolve(readTold(id, response, Buffer.concat(chunks).toString()))
        })
      })
      const leave = setTimeout(() => request.destroy(), leaveAfterMs)
      request.on('error', nothing).on('close', nothing)
      const [first, ...rest] = pieces
      if (rest.length === 0) return void request.end(first)
      const next = (piece: string | undefined) => {
        if (request.destroyed) return
        if (piece === undefined) return void request.end()
        request.write(piece)
        setTimeout(() => next(rest.shift()), pauseMs)
      }
      next(first)
    })
  }
}

function defined(headers: Record<string, string | undefined>): http.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
}

function readTold(id: string, { statusCode, headers }: http.IncomingMessage, body: string): ToldLine {
  const status = statusCode as number
  if (headers['content-type'] === 'application/problem+json' && headers['proxy-status']) {
    const { code, sent, highest } = JSON.parse(body)
    return { kind: 'refusal', code, sent, highest }
  }
  if (status === 204 && headers['fencing-mark']) return { kind: 'announced' }
  const answer = String(headers.answer)
  // Anything but the resource's own words is an answer that it never gave.
  return { kind: 'answer', status, answer: body === `${answer} to ${id}` ? answer : `not whole: ${body}` }
}
