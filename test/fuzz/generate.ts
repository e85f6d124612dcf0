/** Makes input number N of a seed: the same one each time, whatever came before it. */
import { between, pick, type Random, randomFor } from '../torture/random.ts'
import { chunkMutations } from './chunk-mutations.ts'
import { claimMutations } from './claim-mutations.ts'
import { rendered } from './draft.ts'
import { framingMutations } from './framing-mutations.ts'
import { type Author, author, honestRequest } from './honest.ts'
import { hopMutations } from './hop-mutations.ts'
import type { ConnectionInput, Input } from './input.ts'
import { lineMutations } from './line-mutations.ts'
import { targetMutations } from './target-mutations.ts'

/** By kind, so that each kind is as frequent whatever its number of tricks. */
const KINDS = [
  framingMutations,
  chunkMutations,
  lineMutations,
  claimMutations,
  hopMutations,
  targetMutations,
].map((kind) => Object.entries(kind))

const HONEST = 0.25
/** Byte by byte only up to this many: each is a packet. */
const MAX_SINGLE_BYTES = 800
const MAX_METHOD_BYTES = 20

export function generate(seed: number, index: number): Input {
  const random = randomFor(seed, `input ${index}`)
  const honest = random() < HONEST
  const connections = random() < 0.8 ? 1 : between(random, 2, 4)
  const notes: string[] = []
  const writer = author(random)
  const inputs = Array.from({ length: connections }, (_, c): ConnectionInput => {
    if (connections === 1 || !honest) rise(writer)
    return connection(writer, c, honest, connections === 1, notes)
  })
  return { connections: inputs, honest, notes }
}

/** A higher token at times: the task is handed over. */
function rise(writer: Author): void {
  if (writer.random() < 0.2 && writer.token < 2n ** 63n - 2n) writer.token += 1n
}

function connection(
  writer: Author,
  c: number,
  honest: boolean,
  alone: boolean,
  notes: string[],
): ConnectionInput {
  const { random } = writer
  const count = random() < 0.4 ? 1 : between(random, 2, 7)
  const victim = between(random, 0, count)
  const requests = Array.from({ length: count }, (_, r) => {
    if (alone) rise(writer)
    const draft = honestRequest(writer, `${c}.${r}`, r === 0)
    if (honest && r === count - 1 && draft.chunks.length === 0 && random() < 0.1) draft.version = 'HTTP/1.0'
    const tricks = honest || (r !== victim && random() < 0.9) ? 0 : random() < 0.7 ? 1 : 2
    for (let i = 0; i < tricks; i++) {
      const [name, mutate] = pick(random, pick(random, KINDS))
      mutate(draft, random)
      notes.push(`${c}.${r} ${name}`)
    }
    return rendered(draft)
  })
  let text = requests.join('')
  if (!honest && random() < 0.15) {
    text = scrambled(text, random)
    notes.push(`${c} bytes changed`)
  }
  const bytes = Buffer.from(text, 'latin1')
  return {
    bytes: honest ? bytes : cutOff(bytes, random),
    // A method that Node doesn't know has to come in one piece.
    cuts: cuts(bytes.length, random).filter((cut) => !honest || cut > MAX_METHOD_BYTES),
    leaving: leavingOf(honest, random),
  }
}

/** Changes a few bytes anywhere. */
function scrambled(text: string, random: Random): string {
  let changed = text
  for (let i = between(random, 1, 4); i > 0; i--) {
    const at = between(random, 0, changed.length)
    const length = random() < 0.7 ? 1 : between(random, 1, 40)
    const piece = changed.slice(at, at + length)
    const other = pick(random, [
      '',
      String.fromCharCode(between(random, 0, 256)),
      piece + piece,
      '\r\n',
      '\n',
      '0',
    ])
    changed = changed.slice(0, at) + other + changed.slice(at + length)
  }
  return changed
}

/** At times the client stops in the middle. */
function cutOff(bytes: Buffer, random: Random): Buffer {
  return random() < 0.1 ? bytes.subarray(0, between(random, 0, bytes.length)) : bytes
}

function cuts(length: number, random: Random): number[] {
  const kind = random()
  if (kind < 0.15 && length < MAX_SINGLE_BYTES) return Array.from({ length }, (_, i) => i).slice(1)
  if (kind < 0.6) return []
  const offsets = Array.from({ length: between(random, 1, 6) }, () => between(random, 0, length))
  return [...new Set(offsets)].sort((a, b) => a - b)
}

function leavingOf(honest: boolean, random: Random): ConnectionInput['leaving'] {
  const kind = random()
  if (honest || kind < 0.8) return 'wait'
  return kind < 0.9 ? 'end' : 'reset'
}
