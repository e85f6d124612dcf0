/**
 * The model's state: one task as the disk, the sidecar, the resource and its clients see it.
 *
 * A state is packed into two words and one for each write. Writes that a scope makes alike are
 * interchangeable, and of a write that can't matter any more nothing is kept: `pack` sorts and forgets, so
 * that states which differ in nothing else are one.
 */
import { EXCHANGE, OPERATION, PERMIT, type Property, ROW, type Scope, type WriteSpec } from './words.ts'

export class Write {
  readonly spec: WriteSpec
  readonly token: number
  permit: number = PERMIT.IDLE
  exchange: number = EXCHANGE.NONE
  /** On the disk, and as the page cache shows it. */
  row: number = ROW.NONE
  cachedRow: number = ROW.NONE
  /** Its row is in the transaction that was written last and isn't fsynced. */
  writing = false
  /** The gate knows that its intent is durable. */
  intended = false
  /** The gate knows of its unknown outcome and keeps later holders out. */
  holding = false
  /** The operation under way carries its intent, or its resolution. */
  inOperation = false
  /** Its client was told that nothing was sent. */
  toldNotSent = false
  /** Nothing but broken rules set it: the gate has lost sight of its sender. */
  loose = false

  constructor(spec: WriteSpec) {
    this.spec = spec
    this.token = spec.token
  }

  pack(): number {
    return (
      this.permit |
      (this.exchange << 3) |
      (this.row << 6) |
      (this.cachedRow << 8) |
      (Number(this.writing) << 10) |
      (Number(this.intended) << 11) |
      (Number(this.holding) << 12) |
      (Number(this.inOperation) << 13) |
      (Number(this.toldNotSent) << 14) |
      (Number(this.loose) << 15)
    )
  }

  unpack(word: number): void {
    this.permit = word & 7
    this.exchange = (word >> 3) & 7
    this.row = (word >> 6) & 3
    this.cachedRow = (word >> 8) & 3
    this.writing = (word & (1 << 10)) !== 0
    this.intended = (word & (1 << 11)) !== 0
    this.holding = (word & (1 << 12)) !== 0
    this.inOperation = (word & (1 << 13)) !== 0
    this.toldNotSent = (word & (1 << 14)) !== 0
    this.loose = (word & (1 << 15)) !== 0
  }

  /** Nothing that can still happen to it makes a difference to anybody. */
  get forgettable(): boolean {
    if (this.permit !== PERMIT.OVER || this.loose || this.writing || this.inOperation) return false
    if (this.row !== this.cachedRow) return false
    if (this.row === ROW.RESOLVED || (this.row === ROW.UNKNOWN && !this.spec.holds)) return true
    if (this.row !== ROW.NONE) return false
    return this.exchange === EXCHANGE.NONE || this.exchange === EXCHANGE.ANSWERED
  }
}

const FORGOTTEN = PERMIT.OVER

/** The task's mark and what goes with it: on the disk, and as the page cache shows it. */
export class StoredTask {
  token = 0
  complete = false
  frozen = false
  holder = 0
  /** The clean-stop record. */
  clean = false
  /** Every write that the process before could send had an intent on record. */
  intentsComplete = false

  copy(from: StoredTask): void {
    this.token = from.token
    this.complete = from.complete
    this.frozen = from.frozen
    this.holder = from.holder
    this.clean = from.clean
    this.intentsComplete = from.intentsComplete
  }

  pack(): number {
    return (
      this.token |
      (Number(this.complete) << 2) |
      (Number(this.frozen) << 3) |
      (this.holder << 4) |
      (Number(this.clean) << 6) |
      (Number(this.intentsComplete) << 7)
    )
  }

  unpack(word: number): void {
    this.token = word & 3
    this.complete = (word & 4) !== 0
    this.frozen = (word & 8) !== 0
    this.holder = (word >> 4) & 3
    this.clean = (word & 64) !== 0
    this.intentsComplete = (word & 128) !== 0
  }
}

/** A state as it is, or the one that stands for all states like it. */
export type Form = 'exact' | 'canonical'

export class World {
  readonly writes: readonly Write[]
  readonly disk = new StoredTask()
  readonly cache = new StoredTask()

  // The process.
  up = false
  grace = false

  // What the gate knows of the task: nothing, or what the store confirmed.
  known = false
  token = 0
  complete = false
  frozen = false
  holder = 0

  // The operation under way; `writing`: its transaction was written last and isn't fsynced.
  operation: number = OPERATION.NONE
  toToken = 0
  toComplete = false
  toHolder = 0
  writing = false

  // What has been used up of the scope.
  crashes = 0
  cleanStops = 0
  failures = 0
  acts = 0

  // What only an observer knows: the highest token sent or announced, the holder first named with it, and
  // whether a freeze was answered that nobody has asked to end.
  sent = 0
  sentHolder = 0
  freezeAnswered = false

  /** Only a broken rule sets it: an answer to a load that is late, as token * 2 + complete + 1. */
  lateLoad = 0

  /** What the step just made has broken. Not part of the state. */
  readonly broken: Property[] = []

  readonly #alike: readonly (readonly number[])[]

  constructor(scope: Scope) {
    this.writes = scope.writes.map((spec) => new Write(spec))
    const groups = new Map<string, number[]>()
    for (const [at, { name: _, ...rest }] of scope.writes.entries()) {
      const key = JSON.stringify(rest)
      groups.set(key, [...(groups.get(key) ?? []), at])
    }
    this.#alike = [...groups.values()].filter((group) => group.length > 1)
  }

  /** How many words `pack` fills. */
  get width(): number {
    return 2 + this.writes.length
  }

  pack(into: Uint32Array, form: Form): void {
    into[0] =
      (Number(this.up) |
        (Number(this.grace) << 1) |
        (Number(this.known) << 2) |
        (this.token << 3) |
        (Number(this.complete) << 5) |
        (Number(this.frozen) << 6) |
        (this.holder << 7) |
        (this.operation << 9) |
        (this.toToken << 12) |
        (Number(this.toComplete) << 14) |
        (this.toHolder << 15) |
        (Number(this.writing) << 17) |
        (this.crashes << 18) |
        (this.cleanStops << 20) |
        (this.failures << 22) |
        (this.acts << 24) |
        (this.sent << 26) |
        (this.sentHolder << 28) |
        (Number(this.freezeAnswered) << 30)) >>>
      0
    into[1] = this.disk.pack() | (this.cache.pack() << 8) | (this.lateLoad << 16)
    const canonical = form === 'canonical'
    for (let at = 0; at < this.writes.length; at++) {
      const write = this.writes[at] as Write
      into[2 + at] = canonical && write.forgettable ? FORGOTTEN : write.pack()
    }
    if (canonical) for (const group of this.#alike) sort(into, group)
  }

  unpack(words: Uint32Array, from = 0): void {
    const own = words[from] as number
    this.up = (own & 1) !== 0
    this.grace = (own & 2) !== 0
    this.known = (own & 4) !== 0
    this.token = (own >> 3) & 3
    this.complete = (own & (1 << 5)) !== 0
    this.frozen = (own & (1 << 6)) !== 0
    this.holder = (own >> 7) & 3
    this.operation = (own >> 9) & 7
    this.toToken = (own >> 12) & 3
    this.toComplete = (own & (1 << 14)) !== 0
    this.toHolder = (own >> 15) & 3
    this.writing = (own & (1 << 17)) !== 0
    this.crashes = (own >> 18) & 3
    this.cleanStops = (own >> 20) & 3
    this.failures = (own >> 22) & 3
    this.acts = (own >> 24) & 3
    this.sent = (own >> 26) & 3
    this.sentHolder = (own >> 28) & 3
    this.freezeAnswered = (own & (1 << 30)) !== 0
    const stored = words[from + 1] as number
    this.disk.unpack(stored & 255)
    this.cache.unpack((stored >> 8) & 255)
    this.lateLoad = stored >> 16
    for (let at = 0; at < this.writes.length; at++) {
      const write = this.writes[at] as Write
      write.unpack(words[from + 2 + at] as number)
    }
    this.broken.length = 0
  }
}

/** Sorts the words of a group of writes: groups are of two or three. */
function sort(words: Uint32Array, group: readonly number[]): void {
  for (let end = group.length - 1; end > 0; end--) {
    for (let i = 0; i < end; i++) {
      const a = 2 + (group[i] as number)
      const b = 2 + (group[i + 1] as number)
      const [left, right] = [words[a] as number, words[b] as number]
      if (left > right) {
        words[a] = right
        words[b] = left
      }
    }
  }
}
