/**
 * The oracle: holds what the resource received and what the clients were answered against what the strict reader
 * sees in the clients' bytes.
 *
 * It is one-sided. The sidecar may refuse what the strict reader takes, but for honest inputs; it may never forward
 * what the strict reader does not see, or what the rules forbid, nor change, repeat or reorder anything.
 */
import { type ClientAnswer, isLast } from './answers.ts'
import type { Conversation } from './client.ts'
import { difference } from './compare.ts'
import { valuesOf } from './grammar.ts'
import type { Input } from './input.ts'
import { type Ruling, rulingOn } from './rules.ts'
import type { Stream, StrictRequest } from './strict.ts'
import type { Received } from './upstream.ts'

export interface Violation {
  readonly rule: string
  readonly message: string
  /** Where it is known. */
  readonly run: Run | undefined
}

/** One connection of a run. */
export interface Line {
  readonly stream: Stream
  readonly conversation: Conversation
  /** What of it reached the resource, by the index of the request. */
  readonly arrived: Map<number, Received>
}

/** An input that was sent. */
export interface Run {
  readonly input: Input
  readonly index: number
  /** What stood in the tag's place. */
  readonly name: string
  readonly lines: readonly Line[]
}

/** What the strict reader sees, with the request at the end that is not whole. */
export function seenIn({ requests, rest }: Stream): readonly StrictRequest[] {
  return 'begun' in rest && rest.begun ? [...requests, rest.begun] : requests
}

/** Whose request it is that the resource received, or what is wrong with it. */
interface Owner {
  readonly run: Run | undefined
  readonly sent?: StrictRequest | undefined
  readonly fault?: string
}

/** Keeps what outlasts a batch: the highest token that the resource has seen of each task. */
export class Judge {
  readonly #host: string
  readonly #highest = new Map<string, bigint>()

  constructor(host: string) {
    this.#host = host
  }

  /** `runs`: all that may still be the cause of what the resource received; `ended`: those to be judged now. */
  judge(runs: readonly Run[], ended: readonly Run[], received: readonly Received[]): Violation[] {
    const arrivals = received.flatMap((record) => this.#arrival(record, runs))
    const lines = ended.flatMap((run) =>
      run.lines.flatMap((line) => this.#line(line, run).map((found) => ({ ...found, run }))),
    )
    return [...arrivals, ...lines]
  }

  #arrival(record: Received, runs: readonly Run[]): Violation[] {
    const { request } = record
    const owner = this.#owner(record, runs)
    const ruling = rulingOn(judged(record, owner.sent))
    const found: Violation[] = []
    const violation = (rule: string, message: string) =>
      found.push({ rule, message: `${shown(request)}: ${message}`, run: owner.run })
    if (owner.fault !== undefined) violation('exactly what the strict reader sees', owner.fault)
    if (ruling.may === 'never') violation('only what may be forwarded', ruling.why)
    const overtaken = request.whole ? this.#overtaken(ruling) : undefined
    if (overtaken !== undefined) violation('tokens in order', `${overtaken} was sent for its task before`)
    return found
  }

  #overtaken(ruling: Ruling): bigint | undefined {
    if (ruling.may !== 'write') return undefined
    const highest = this.#highest.get(ruling.task)
    if (highest !== undefined && highest > ruling.token) return highest
    this.#highest.set(ruling.task, ruling.token)
    return undefined
  }

  /** Finds the request that it is, behind those of its connection that arrived before. */
  #owner(record: Received, runs: readonly Run[]): Owner {
    const { request } = record
    const id = idOf(request)
    const named = runs.filter(({ name }) => id.startsWith(`${name}.`))
    let nearest: Owner = {
      run: named[0],
      fault: 'the strict reader sees no such request in what its client sent',
    }
    for (const run of named.length > 0 ? named : runs) {
      for (const line of run.lines) {
        const sent = seenIn(line.stream)
        for (let i = request.whole ? behind(line.arrived) : 0; i < sent.length; i++) {
          if (line.arrived.has(i)) continue
          const fault = difference(sent[i] as StrictRequest, request, this.#host)
          if (fault === undefined) {
            line.arrived.set(i, record)
            return { run, sent: sent[i] }
          }
          if (id !== '' && idOf(sent[i] as StrictRequest) === id) nearest = { run, fault }
        }
      }
    }
    return nearest
  }

  #line(line: Line, run: Run): Omit<Violation, 'run'>[] {
    const { stream, conversation } = line
    const { answers, fault, missed, interim } = conversation
    const found: Omit<Violation, 'run'>[] = []
    const violation = (rule: string, message: string) => found.push({ rule, message })
    if (missed !== undefined)
      violation('every connection is answered or closed', `its ${missed} did not come`)
    if (fault !== undefined) violation('answers are well-formed', fault)
    const sent = seenIn(stream)
    // What the strict reader gives up on can have one refusal, even if its head was not whole.
    const most =
      stream.requests.length + (stream.rest.kind === 'clean' || stream.rest.kind === 'closed' ? 0 : 1)
    if (answers.length > most)
      violation('one answer a request', `${answers.length} answers to ${most} requests`)
    answers.forEach((answer, i) => {
      if (isLast(answer) && i < answers.length - 1)
        violation('answers are well-formed', 'one follows the last')
      const wrong = this.#answer(answer, i, sent[i], line)
      if (wrong !== undefined) violation('the answer to its own request', `answer ${i + 1}: ${wrong}`)
    })
    if (interim > 0 && answers.length >= sent.length)
      violation('one answer a request', 'interim answers to none')
    if (!run.input.honest) return found
    if ('begun' in stream.rest) violation('honest inputs are valid', 'they are not')
    for (const message of this.#withheld(line, run)) violation('honest requests are forwarded', message)
    return found
  }

  /** What is wrong with an answer. */
  #answer(
    answer: ClientAnswer,
    index: number,
    sent: StrictRequest | undefined,
    { arrived }: Line,
  ): string | undefined {
    if (answer.interim > 0 && sent?.version !== '1.1') return 'interim answers to what is no HTTP/1.1 request'
    const record = arrived.get(index)
    if (isOwn(answer)) {
      const claimsUnsent = answer.body.includes('"sent":"no"')
      return claimsUnsent && record ? 'it says that nothing was sent, and the resource has it' : undefined
    }
    const [seq] = valuesOf(answer.fields, 'x-fuzz-seq')
    if (seq === undefined || Number(seq) !== record?.seq) {
      return `it is the answer to record ${seq} of the resource, and its own is ${record?.seq}`
    }
    if (!record.answer || !answer.whole) return undefined
    const same = answer.status === record.answer.status && answer.body === record.answer.body
    return same ? undefined : `it is ${answer.status} ${answer.body}, not ${JSON.stringify(record.answer)}`
  }

  /** What should have been forwarded and answered, and was not. */
  #withheld(line: Line, run: Run): string[] {
    const found: string[] = []
    // What other connections send at the same time may go first.
    const before = run.lines.flatMap((other) => (other === line ? [] : other.stream.requests.map(rulingOn)))
    line.stream.requests.forEach((request, i) => {
      const ruling = rulingOn(request)
      const overtaken = before.some((other) => isHigher(other, ruling))
      before.push(ruling)
      const answer = line.conversation.answers[i]
      const whole = line.arrived.get(i)?.request.whole
      const served = whole ? answer?.whole && !isOwn(answer) : answer && isUnknown(answer)
      if (ruling.may === 'never' || overtaken || served) return
      const told = answer ? `${answer.status} ${answer.body}` : 'nothing'
      found.push(`${shown(request)} ${whole ? 'arrived' : 'did not arrive'}, and its client was told ${told}`)
    })
    return found
  }
}

/**
 * What is to be ruled on: what the client sent, since a hop takes fields off it. Trailers are seen when all else has
 * been sent: what was cut off before its end has lost none.
 */
function judged({ request }: Received, sent: StrictRequest = request): StrictRequest {
  return request.whole ? sent : { ...sent, trailers: [] }
}

/**
 * The first index that a whole request can have. One that was cut may be seen late: its connection to the resource
 * is not that of the next one.
 */
function behind(arrived: ReadonlyMap<number, Received>): number {
  const whole = [...arrived].filter(([, { request }]) => request.whole).map(([index]) => index)
  return Math.max(-1, ...whole) + 1
}

function isHigher(one: Ruling, other: Ruling): boolean {
  return one.may === 'write' && other.may === 'write' && one.task === other.task && one.token > other.token
}

/** Whether it is the sidecar's own: a refusal, or the answer to an announcement. */
export function isOwn({ fields }: ClientAnswer): boolean {
  return valuesOf(fields, 'proxy-status').length > 0 || valuesOf(fields, 'fencing-mark').length > 0
}

/** A resource that misbehaves for one client can take down the connection on which another's request leaves. */
function isUnknown(answer: ClientAnswer): boolean {
  return isOwn(answer) && answer.body.includes('"sent":"unknown"')
}

export function idOf({ fields }: StrictRequest): string {
  return valuesOf(fields, 'x-fuzz-id').join()
}

function shown(request: StrictRequest): string {
  return `${request.method} ${request.target.slice(0, 80)} (${idOf(request) || 'no id'})`
}
