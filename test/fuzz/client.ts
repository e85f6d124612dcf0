/** One client connection of an input: sends its bytes as they are, and keeps all that comes back. */
import net, { type Socket } from 'node:net'
import { type Answers, readAnswers } from './answers.ts'
import type { ConnectionInput } from './input.ts'
import type { Stream } from './strict.ts'

/** Longer than any answer takes, unless it never comes. */
const ANSWER_MS = 10_000
/** For an answer that need not come. */
const REFUSAL_MS = 100

export interface Conversation extends Answers {
  /** What the client waited for in vain. */
  readonly missed: 'answers' | 'end' | undefined
}

/**
 * @param bytes those of the input, with the run's name in them.
 * @param stream what the strict reader sees in them.
 */
export async function converse(
  port: number,
  input: ConnectionInput,
  bytes: Buffer,
  stream: Stream,
): Promise<Conversation> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
  const inbox = new Inbox(socket, methodsOf(stream))
  await send(socket, bytes, input.cuts)
  let missed: Conversation['missed']
  if (input.leaving === 'reset') socket.resetAndDestroy()
  else {
    const { requests, rest } = stream
    if (input.leaving === 'wait' && !(await inbox.when(() => inbox.answered >= requests.length)))
      missed = 'answers'
    // To see the refusal of what the strict reader gives up on; the sidecar may still wait for the rest of it.
    if (missed === undefined && rest.kind === 'invalid')
      await inbox.when(() => inbox.answered > requests.length, REFUSAL_MS)
    socket.end()
    if (!(await inbox.when(() => inbox.ended))) missed ??= 'end'
    socket.destroy()
  }
  return { ...inbox.read(), missed }
}

function methodsOf({ requests, rest }: Stream): string[] {
  const begun = 'begun' in rest && rest.begun ? [rest.begun] : []
  return [...requests, ...begun].map(({ method }) => method)
}

/** Writes are separate for the peer as far as a loopback connection lets them be. */
async function send(socket: Socket, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  const ends = [...cuts, bytes.length]
  let from = 0
  for (const to of ends) {
    if (socket.destroyed) return
    const piece = bytes.subarray(from, to)
    await new Promise<void>((resolve) => socket.write(piece, () => resolve()))
    if (ends.length > 1) await new Promise(setImmediate)
    from = to
  }
}

class Inbox {
  readonly #methods: readonly string[]
  readonly #parts: Buffer[] = []
  #check: (() => void) | undefined
  #orderly = false
  ended = false

  constructor(socket: Socket, methods: readonly string[]) {
    this.#methods = methods
    socket.on('data', (chunk: Buffer) => {
      this.#parts.push(chunk)
      this.#check?.()
    })
    socket.on('end', () => {
      this.#orderly = true
      this.#end()
    })
    socket.on('error', () => this.#end()).on('close', () => this.#end())
  }

  read(): Answers {
    return readAnswers(Buffer.concat(this.#parts), this.#methods, this.#orderly)
  }

  /** How many whole answers there are. */
  get answered(): number {
    return this.read().answers.filter(({ whole }) => whole).length
  }

  /** Resolves with true once the condition holds or the connection has ended, with false if neither comes. */
  when(condition: () => boolean, ms = ANSWER_MS): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (held: boolean) => {
        this.#check = undefined
        clearTimeout(timer)
        resolve(held)
      }
      const timer = setTimeout(() => done(false), ms)
      this.#check = () => {
        if (this.ended || condition()) done(true)
      }
      this.#check()
    })
  }

  #end(): void {
    this.ended = true
    this.#check?.()
  }
}
