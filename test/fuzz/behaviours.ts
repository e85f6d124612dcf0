/** How the fuzzed sidecar's resource answers: as a good one, or in one of the ways in which resources fail. */
import type { Socket } from 'node:net'
import type { Received } from './upstream.ts'

export interface Behaviour {
  /** Whether it begins when the head is there, and not only after the whole request. */
  readonly early: boolean
  /** Resolves with whether the connection can carry another request. */
  readonly answer: (received: Received, socket: Socket) => Promise<boolean>
}

/** Resolves when the peer's buffers have taken it, or never will. */
const write = (socket: Socket, text: string) =>
  new Promise<void>((resolve) => {
    if (socket.destroyed) resolve()
    else socket.write(text, 'latin1', () => resolve())
  })

interface Answer {
  readonly status?: number
  /** Besides the one that names the record. */
  readonly fields?: string
  /** What stands between head and body, for an answer that isn't delimited by its length. */
  readonly encoded?: (body: string) => string
  readonly framing?: (body: string) => string
}

const byLength = (body: string) => `Content-Length: ${body.length}\r\n`
const chunkedBody = (body: string) => `${[...body].map((char) => `1\r\n${char}\r\n`).join('')}0\r\n`

/** The bytes of an answer; notes it as the one that the client must get. */
function answerTo(received: Received, answer: Answer = {}): string {
  const { status = 200, fields = '', framing = byLength, encoded = (body) => body } = answer
  const bodiless = received.request.method === 'HEAD' || status === 204 || status === 304
  const body = `answer ${received.seq}`
  received.answer = { status, body: bodiless ? '' : body }
  const delimited = status === 204 ? '' : framing(body)
  return `HTTP/1.1 ${status} ?\r\nX-Fuzz-Seq: ${received.seq}\r\n${fields}${delimited}\r\n${bodiless ? '' : encoded(body)}`
}

/** Answers in one write. */
const answers = (answer: Answer, reusable = true): Behaviour => ({
  early: false,
  async answer(received, socket) {
    await write(socket, answerTo(received, answer))
    return reusable
  },
})

/** Writes what is no answer that anybody can be sure of, and ends the connection. */
const writes = (bytes: (seq: number) => string): Behaviour => ({
  early: false,
  async answer({ seq }, socket) {
    await write(socket, bytes(seq))
    return false
  },
})

const resets = (early: boolean): Behaviour => ({
  early,
  async answer(_, socket) {
    socket.resetAndDestroy()
    return false
  },
})

const early = (thenEnds: boolean): Behaviour => ({
  early: true,
  async answer(received, socket) {
    await write(socket, answerTo(received))
    if (thenEnds) socket.end()
    return !thenEnds
  },
})

const slowly: Behaviour = {
  early: false,
  async answer(received, socket) {
    for (const char of answerTo(received)) {
      await write(socket, char)
      await new Promise(setImmediate)
    }
    return true
  },
}

const interim = '103 Early Hints\r\nLink: <a>\r\n\r\n'

/** What a client of the sidecar gets whole, whatever else it sent. */
export const GOOD: Readonly<Record<string, Behaviour>> = {
  plain: answers({}),
  closes: answers({ fields: 'Connection: close\r\n' }, false),
  'until-close': answers({ framing: () => '' }, false),
  chunked: answers({
    framing: () => 'Transfer-Encoding: chunked\r\n',
    encoded: (body) => `${chunkedBody(body)}\r\n`,
  }),
  trailers: answers({
    framing: () => 'Transfer-Encoding: chunked\r\n',
    encoded: (body) => `${chunkedBody(body)}X-Sum: 1\r\n\r\n`,
  }),
  'no-content': answers({ status: 204 }),
  'not-modified': answers({ status: 304 }),
  'not-found': answers({ status: 404 }),
  slowly,
  interim: {
    early: false,
    async answer(received, socket) {
      await write(socket, `HTTP/1.1 ${interim}HTTP/1.1 ${interim}${answerTo(received)}`)
      return true
    },
  },
}

export const BAD: Readonly<Record<string, Behaviour>> = {
  early: early(false),
  'early-end': early(true),
  reset: resets(false),
  'reset-early': resets(true),
  silent: writes(() => ''),
  'half-head': writes(() => 'HTTP/1.1 20'),
  short: writes((seq) => `HTTP/1.1 200 ?\r\nX-Fuzz-Seq: ${seq}\r\nContent-Length: 99\r\n\r\nshort`),
  'short-chunk': writes(
    (seq) => `HTTP/1.1 200 ?\r\nX-Fuzz-Seq: ${seq}\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nshort`,
  ),
  'two-lengths': writes(() => 'HTTP/1.1 200 ?\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
  'length-and-chunks': writes(
    () => 'HTTP/1.1 200 ?\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ),
  'bare-cr': writes(() => 'HTTP/1.1 200 ?\r\nX-A: b\rContent-Length: 0\r\nContent-Length: 0\r\n\r\n'),
  switching: writes(() => 'HTTP/1.1 101 ?\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  nonsense: writes(() => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
  /** The second one belongs to nobody. */
  twice: {
    early: false,
    async answer(received, socket) {
      await write(socket, `${answerTo(received)}HTTP/1.1 200 ?\r\nX-Fuzz-Seq: 0\r\nContent-Length: 0\r\n\r\n`)
      return true
    },
  },
}

export function behaviourNamed(name: string | undefined): Behaviour {
  const known = name ?? 'plain'
  return GOOD[known] ?? BAD[known] ?? (GOOD.plain as Behaviour)
}
