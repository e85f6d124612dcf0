/**
 * The resource's process: a raw HTTP/1.1 server that logs each request's first byte, whole body, answer and end,
 * and behaves as the request asks. Arguments: the log file, and a seed.
 */
import net, { type AddressInfo, type Socket } from 'node:net'
import type { Moment } from '../support/history.ts'
import { EventLog, now, type ResourceLine } from '../support/history-log.ts'
import {
  Body,
  CutError,
  fieldValues,
  framingOf,
  type Head,
  readBody,
  readHead,
  WireReader,
} from '../support/wire.ts'
import { type Kind, readBehaviour } from './behaviour.ts'
import { OWN_STATUSES } from './limits.ts'
import { pick, randomFor } from './random.ts'

const [logFile, seed] = process.argv.slice(2)
const log = new EventLog<ResourceLine>(logFile as string)
const random = randomFor(Number(seed), 'resource')
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
let exchanges = 0
let answers = 0

/**
 * Events between which the loop found no turn without one: the kernel doesn't say in what order their bytes came,
 * if the process slept while they did.
 */
class Batches {
  #number = 0
  #quiet: boolean | undefined

  /** Called at each event of a socket. */
  moment(): Moment {
    if (this.#quiet === undefined) setImmediate(() => this.#turn())
    this.#quiet = false
    return { at: now(), batch: this.#number }
  }

  #turn(): void {
    if (this.#quiet) {
      this.#quiet = undefined
      this.#number++
      return
    }
    this.#quiet = true
    setImmediate(() => this.#turn())
  }
}
const batches = new Batches()

async function serve(socket: Socket): Promise<void> {
  batches.moment()
  socket.on('error', () => {})
  // A reset of a connection that has carried nothing, as a resource that restarts gives.
  if (random() < 0.01) return void socket.resetAndDestroy()
  socket.on('data', () => batches.moment())
  const reader = new WireReader(socket)
  try {
    while (await reader.ready()) {
      const first = batches.moment()
      const exchange = new ResourceExchange(socket, reader, await readHead(reader), first)
      if (!(await exchange.run()) || socket.destroyed) break
    }
    socket.end()
  } catch (error) {
    if (!(error instanceof CutError)) throw error
    socket.destroy()
  }
}

class ResourceExchange {
  readonly #n = ++exchanges
  readonly #socket: Socket
  readonly #reader: WireReader
  readonly #id: string
  readonly #head: Head
  readonly #ended = Promise.withResolvers<void>()
  #over = false

  constructor(socket: Socket, reader: WireReader, head: Head, first: Moment) {
    this.#socket = socket
    this.#reader = reader
    this.#head = head
    this.#id = this.#field('idempotency-key')
    const [holder] = fieldValues(head.headers, 'fencing-holder')
    const claim = { task: this.#field('fencing-task'), token: this.#field('fencing-token'), holder }
    log.write({ e: 'first', n: this.#n, id: this.#id, ...claim, moment: first })
    socket.once('end', this.#closed).once('error', this.#closed).once('close', this.#closed)
  }

  readonly #closed = () => this.#end('closed')

  /** Whether the connection can carry another. */
  async run(): Promise<boolean> {
    const { kind, ms } = readBehaviour(this.#field('behave'))
    if (kind === 'reset-head') return this.#reset()
    if (kind === 'early') {
      await this.#answer(200, kind)
      return false
    }
    const body = new Body()
    const half = Promise.withResolvers<void>()
    const read = readBody(this.#reader, framingOf(this.#head.headers, 'none'), body, () => half.resolve())
    if (kind === 'reset-body') {
      await Promise.race([half.promise, read])
      read.catch(() => {})
      return this.#reset()
    }
    await read
    log.write({ e: 'whole', n: this.#n, sha256: body.sha256 })
    if (kind === 'reset-after') return this.#reset()
    await sleep(ms)
    log.write({ e: 'applied', n: this.#n })
    if (kind === 'never') {
      await this.#ended.promise
      return false
    }
    return this.#answer(this.#status(kind), kind)
  }

  #field(name: string): string {
    const [value] = fieldValues(this.#head.headers, name)
    if (value === undefined) throw new Error(`a request came without ${name}`)
    return value
  }

  #status(kind: Kind): number {
    if (kind === '502' || kind === '504') return Number(kind)
    return kind === 'own' ? pick(random, OWN_STATUSES) : 200
  }

  async #answer(status: number, kind: Kind): Promise<boolean> {
    const answer = `answer-${++answers}`
    const text = `${answer} to ${this.#id}`
    const close = kind === 'early' || random() < 0.1
    const fields = [`Answer: ${answer}`, `Content-Length: ${text.length}`]
    if (close) fields.push('Connection: close')
    const head = `HTTP/1.1 ${status} Said\r\n${fields.join('\r\n')}\r\n\r\n`
    log.write({ e: 'answer', n: this.#n, id: answer, status })
    if (this.#socket.destroyed) return false
    if (kind === 'reset-answer') {
      this.#socket.write(head + text.slice(0, 6))
      await sleep(2)
      return this.#reset()
    }
    this.#end('answered')
    this.#socket.write(head + text)
    return !close
  }

  #reset(): boolean {
    this.#end('closed')
    if (!this.#socket.destroyed) this.#socket.resetAndDestroy()
    return false
  }

  #end(e: 'answered' | 'closed'): void {
    if (this.#over) return
    this.#over = true
    this.#socket.off('end', this.#closed).off('error', this.#closed).off('close', this.#closed)
    this.#ended.resolve()
    log.write({ e, n: this.#n, moment: batches.moment() })
  }
}

/** The order to end: a sidecar's idle connections would keep the process. */
process.on('disconnect', () => process.exit())

const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void serve(socket))
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
