/** What survives the process of a {@link MemoryMarkStore}: the store's tables as plain maps. */

import type { Pruned, PruneLimits } from '../../src/journal/queries.ts'
import type { Act, UnknownEnd, UnknownWrite, WriteRecord } from '../../src/journal/records.ts'
import type {
  BackupReport,
  Change,
  Mark,
  StoreCounts,
  StoreOrigin,
  StoreState,
  TaskRecord,
} from '../../src/store/mark-store.ts'
import type { Token } from '../../src/token.ts'
import { UNRESOLVED } from './store-changes.ts'
import { MemoryJournal } from './store-memory-journal.ts'
import { MemoryOperations } from './store-memory-operations.ts'

export interface StoredMark {
  readonly token: Token
  readonly complete: boolean
  readonly holder?: string | undefined
}

export class MemoryDisk {
  readonly marks = new Map<string, StoredMark>()
  /** When each mark was last used. */
  readonly usedAtMs = new Map<string, number>()
  /** By prefix. */
  readonly floors = new Map<string, Token>()
  readonly backups = new Set<string>()
  readonly frozen = new Set<string>()
  /** Writes on record, oldest first: an intent as long as it has no `reason`. */
  readonly writes = new Map<string, WriteRecord | UnknownWrite>()
  /** In order, those that resolve among them. */
  readonly acts: Act[] = []
  readonly operations = new MemoryOperations()
  readonly journal = new MemoryJournal()
  readonly floor: Token
  cleanStop: boolean
  intentsComplete = false
  opened = false
  commitSequence = 0
  /** Whoever has it open. */
  user: object | undefined

  constructor(floor: Token = 0n) {
    this.floor = floor
    this.cleanStop = floor === 0n
  }

  open(user: object, intentsComplete: boolean): StoreOrigin {
    const unclean = !this.cleanStop
    const intentsWereComplete = this.intentsComplete
    const created = !this.opened
    this.user = user
    this.opened = true
    this.cleanStop = false
    this.intentsComplete = intentsComplete && !(unclean && !intentsWereComplete)
    const now = Date.now()
    for (const { id } of this.intents) {
      this.#end(id, { reason: 'restart', bytesSent: undefined, endedAtMs: now })
    }
    this.operations.restart(now)
    return { unclean, intentsWereComplete, created, createdAtMs: 0 }
  }

  close(clean: boolean): void {
    this.cleanStop = clean
    this.user = undefined
  }

  mark(task: string): Mark {
    const stored = this.marks.get(task)
    if (!stored) return { token: this.floorOf(task), complete: false, recorded: false, holder: undefined }
    return { ...stored, recorded: true, holder: stored.holder }
  }

  floorOf(task: string): Token {
    let highest = this.floor
    for (const [prefix, floor] of this.floors) {
      if (task.startsWith(prefix) && floor > highest) highest = floor
    }
    return highest
  }

  /** Not frozen, and nothing open or unresolved. */
  isIdle(task: string): boolean {
    return !this.frozen.has(task) && !this.#hasUnresolved(task)
  }

  get state(): StoreState {
    const floors = [...this.floors].map(([prefix, floor]) => ({ prefix, floor }))
    floors.sort((a, b) => (a.prefix < b.prefix ? -1 : 1))
    return { schema: 0, bytes: 0, walBytes: 0, freeBytes: 0, floor: this.floor, floors }
  }

  /** `undefined` if there is such a file. */
  backup(file: string): BackupReport | undefined {
    if (this.backups.has(file)) return undefined
    this.backups.add(file)
    return { bytes: 0, commitSequence: this.commitSequence }
  }

  task(task: string): TaskRecord {
    const held = this.unresolved.filter((write) => write.task === task && write.holds)
    return {
      mark: this.mark(task),
      frozen: this.frozen.has(task),
      held: held.map(({ id, token }) => ({ id, token, operation: this.operations.idOfAttempt(id) })),
    }
  }

  /** Writes that were announced and haven't ended. */
  get intents(): WriteRecord[] {
    return [...this.writes.values()].filter((write) => !isUnknown(write))
  }

  get unresolved(): UnknownWrite[] {
    return [...this.writes.values()].filter(isUnknown).filter(({ resolution }) => !resolution)
  }

  unknownWrite(id: string): UnknownWrite | undefined {
    const write = this.writes.get(id)
    return write && isUnknown(write) ? write : undefined
  }

  get counts(): StoreCounts {
    return {
      tasks: this.marks.size,
      commitSequence: this.commitSequence,
      unresolved: this.unresolved.length,
      frozen: this.frozen.size,
      lastEntry: this.journal.last,
    }
  }

  prune(limits: PruneLimits): Pruned {
    const entries = this.journal.prune(limits)
    const resolvedBeforeMs = limits.nowMs - limits.maxAgeMs
    for (const write of this.writes.values()) {
      if (isUnknown(write) && (write.resolvedAtMs ?? Infinity) <= resolvedBeforeMs)
        this.writes.delete(write.id)
    }
    return { entries, ...this.operations.prune(limits), more: false }
  }

  commit(changes: readonly Change[]): void {
    for (const change of changes) this.#apply(change)
    if (changes.some(({ kind }) => kind !== 'journal' && kind !== 'used')) this.commitSequence++
  }

  #apply(change: Change): void {
    switch (change.kind) {
      case 'mark': {
        const { task, token, complete, holder } = change
        const old = this.marks.get(task)
        const lower = old
          ? token < old.token || (token === old.token && old.complete && !complete)
          : token < this.floorOf(task)
        if (lower) break
        this.marks.set(task, { token, complete, holder })
        this.#use(task, Date.now())
        break
      }
      case 'used':
        for (const task of change.tasks) this.#use(task, change.atMs)
        break
      case 'reset': {
        const { task, to } = change
        const mark = this.marks.get(task)
        if (!mark || mark.token < to || !this.frozen.has(task) || this.#hasUnresolved(task)) break
        this.marks.set(task, { token: to, complete: true, holder: undefined })
        this.#use(task, Date.now())
        break
      }
      case 'floor': {
        const { prefix, floor } = change
        if (floor > (this.floors.get(prefix) ?? 0n)) this.floors.set(prefix, floor)
        break
      }
      case 'retired':
        for (const task of change.tasks) this.#retire(task, change.beforeMs, change.floor)
        break
      case 'intent':
        this.#intend(change.write)
        break
      case 'ended':
        if (!this.unknownWrite(change.id)) this.writes.delete(change.id)
        break
      case 'unknown':
        this.#intend(change.write)
        if (!this.unknownWrite(change.write.id)) this.#end(change.write.id, change.end)
        break
      case 'resolved': {
        const write = this.unknownWrite(change.id)
        const { resolution, by, note, atMs } = change
        if (write && !write.resolution) {
          this.writes.set(write.id, { ...write, resolution, resolvedBy: by, note, resolvedAtMs: atMs })
          this.operations.resolved(write.id, resolution)
          this.journal.resolved(change, write)
        }
        break
      }
      case 'frozen':
        if (change.frozen) this.frozen.add(change.task)
        else this.frozen.delete(change.task)
        break
      case 'without-intents':
        this.intentsComplete = false
        break
      case 'act':
        this.acts.push(change.act)
        this.journal.act(change.act)
        break
      case 'attempt':
        this.operations.attempt(change.attempt)
        break
      case 'attempt-ended':
        this.operations.ended(change.id, change.end)
        break
      case 'erase-bodies':
        this.operations.eraseBodies(change.task)
        break
      case 'journal':
        for (const entry of change.entries) this.journal.add(entry)
    }
  }

  #use(task: string, atMs: number): void {
    const before = this.usedAtMs.get(task) ?? 0
    if (this.marks.has(task)) this.usedAtMs.set(task, Math.max(before, atMs))
  }

  #retire(task: string, beforeMs: number, floor: Token): void {
    const mark = this.marks.get(task)
    if (!mark || mark.token > floor || mark.token > this.floorOf(task)) return
    if (!this.isIdle(task) || (this.usedAtMs.get(task) ?? 0) >= beforeMs) return
    this.marks.delete(task)
    this.usedAtMs.delete(task)
  }

  #hasUnresolved(task: string): boolean {
    return [...this.writes.values()].some((write) => {
      return write.task === task && (!isUnknown(write) || !write.resolution)
    })
  }

  #intend(write: WriteRecord): void {
    if (!this.writes.has(write.id)) this.writes.set(write.id, write)
  }

  #end(id: string, end: UnknownEnd): void {
    this.writes.set(id, { ...(this.writes.get(id) as WriteRecord), ...end, ...UNRESOLVED })
  }
}

function isUnknown(write: WriteRecord | UnknownWrite): write is UnknownWrite {
  return 'reason' in write
}
