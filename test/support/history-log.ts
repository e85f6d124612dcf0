/** The lines that clients and the resource write as things happen, and how a history is read from them. */
import fs from 'node:fs'
import type { Asked, Moment, Seen, Told } from './history.ts'

/** Tokens are strings in JSON. */
export type ClientLine =
  | {
      readonly e: 'ask'
      readonly id: string
      readonly task: string
      readonly token: string
      readonly holder?: string | undefined
      readonly route: string
      readonly sha256: string
      readonly at: number
    }
  | { readonly e: 'told'; readonly id: string; readonly at: number; readonly told: ToldLine }

export type ToldLine = Exclude<Told, { kind: 'refusal' }> | RefusalLine
interface RefusalLine extends Omit<Extract<Told, { kind: 'refusal' }>, 'highest'> {
  readonly highest?: string | undefined
}

/** `n` is the number of the exchange. */
export type ResourceLine =
  | {
      readonly e: 'first'
      readonly n: number
      readonly id: string
      readonly task: string
      readonly token: string
      readonly holder?: string | undefined
      readonly moment: Moment
    }
  | { readonly e: 'whole'; readonly n: number; readonly sha256: string }
  | { readonly e: 'applied'; readonly n: number }
  | { readonly e: 'answer'; readonly n: number; readonly id: string; readonly status: number }
  | { readonly e: 'answered' | 'closed'; readonly n: number; readonly moment: Moment }

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** The machine's monotonic clock in milliseconds: the same in every process. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6

/** Appends lines as they happen; what was written is there even if the process is killed. */
export class EventLog<Line> {
  readonly #file: number

  constructor(path: string) {
    this.#file = fs.openSync(path, 'a')
  }

  write(line: Line): void {
    fs.writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}

/** The whole lines of a log; a last one without its end is still being written. */
export function readLines<Line>(path: string): Line[] {
  const text = fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : ''
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line)
}

export function askedFrom(lines: Iterable<ClientLine>): Asked[] {
  const asked = new Map<string, Mutable<Asked>>()
  for (const line of lines) {
    if (line.e === 'ask') {
      const { id, task, token, holder, route, sha256, at } = line
      const claim = { id, task, token: BigInt(token), holder, route, sha256 }
      asked.set(id, { ...claim, from: at, until: undefined, told: { kind: 'nothing' } })
    } else {
      const request = asked.get(line.id)
      if (!request) throw new Error(`the answer to ${line.id} is logged, and not its request`)
      request.until = line.at
      request.told = toldFrom(line.told)
    }
  }
  return [...asked.values()]
}

function toldFrom(told: ToldLine): Told {
  if (told.kind !== 'refusal') return told
  return { ...told, highest: told.highest === undefined ? undefined : BigInt(told.highest) }
}

export function seenFrom(lines: Iterable<ResourceLine>): Seen[] {
  const seen = new Map<number, Mutable<Seen>>()
  for (const line of lines) {
    if (line.e === 'first') {
      const { id, task, token, holder, moment } = line
      const none = {
        sha256: undefined,
        applied: false,
        answer: undefined,
        answered: undefined,
        closed: undefined,
      }
      seen.set(line.n, { id, task, token: BigInt(token), holder, first: moment, ...none })
      continue
    }
    const write = seen.get(line.n)
    if (!write) throw new Error(`exchange ${line.n} goes on before its first byte`)
    if (line.e === 'whole') write.sha256 = line.sha256
    else if (line.e === 'applied') write.applied = true
    else if (line.e === 'answer') write.answer = { id: line.id, status: line.status }
    else write[line.e] = line.moment
  }
  return [...seen.values()]
}
