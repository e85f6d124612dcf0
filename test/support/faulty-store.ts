/** The store of one process in the faulty world: its operations end when the test says, and how. */
import assert from 'node:assert/strict'
import type { Change } from '../../src/store/mark-store.ts'
import type { Oracle } from './faulty-oracle.ts'
import { pick } from './faulty-steps.ts'
import { type Fate, idsOf, MemoryMarkStore, type Operation } from './memory-mark-store.ts'
import type { MemoryDisk } from './store-memory-disk.ts'
import type { VirtualClock } from './virtual-clock.ts'

interface Surroundings {
  readonly disk: MemoryDisk
  readonly oracle: Oracle
  readonly clock: VirtualClock
  readonly intentsComplete: boolean
  /** Runs a check where an exception would be taken for the store's. */
  readonly guard: (check: () => void) => void
  /** Commits of which the process waits to hear that they are durable, now or once they are repeated. */
  readonly awaited: (changes: readonly Change[]) => void
  readonly stored: (changes: readonly Change[]) => void
  readonly failed: () => void
}

export class FaultyStore {
  readonly memory: MemoryMarkStore
  /** Commits of endings that failed and have not been repeated with success. */
  readonly retrying = new Set<readonly Change[]>()
  loads = 0
  readonly #world: Surroundings

  constructor(world: Surroundings) {
    const { disk, oracle, clock, guard } = world
    this.#world = world
    const openIntents = disk.intents.map(({ id }) => id)
    this.memory = new MemoryMarkStore(disk, {
      intentsComplete: world.intentsComplete,
      submitted: (operation) => guard(() => this.#submitted(operation)),
      stored: (changes) => {
        this.retrying.delete(changes)
        guard(() => {
          oracle.stored(changes, clock.now())
          world.stored(changes)
        })
      },
    })
    oracle.processStarted(openIntents)
  }

  /** Ends one operation. Commits stay in order where it matters: of one write's, the oldest goes first. */
  serve(index: number, fate: Fate): void {
    const { pending } = this.memory
    const picked = pick(pending, index)
    if (!picked) return
    const ids = idsOf(picked.changes ?? [])
    const older = pending.find(({ changes }) => idsOf(changes ?? []).some((id) => ids.includes(id)))
    this.#end(older ?? picked, fate)
  }

  /** The process dies; the bits of `durable` say which commits had reached the disk. */
  crash(durable: number): void {
    const { pending } = this.memory
    this.memory.crash((operation) => ((durable >> pending.indexOf(operation)) & 1) === 1)
  }

  #submitted({ task, changes }: Operation): void {
    if (changes) this.#world.awaited(changes)
    if (task === undefined) return
    const { oracle, disk, clock } = this.#world
    const others = this.memory.pending.filter((other) => other.task === task)
    assert.equal(others.length, 0, 'a second store operation of the task was started')
    if (!changes) {
      oracle.saw('load')
      this.loads++
      return
    }
    const mark = changes.find((change) => change.kind === 'mark')
    if (!mark) return
    assert.ok(mark.token >= disk.mark(task).token, 'a record below the mark was asked for')
    if (mark.complete) oracle.checkNoneLower(task, mark.token, clock.now())
    if (changes.some((change) => change.kind === 'intent')) oracle.saw('raise with intent')
  }

  #end(operation: Operation, fate: Fate): void {
    const { task, changes } = operation
    if (fate !== 'done') this.#fails(operation)
    else if (task !== undefined) this.#world.oracle.answered(task)
    // An unknown ending that is stored is never reported failed: then its record can't be resolved before.
    const told = changes?.some(({ kind }) => kind === 'unknown') && fate === 'kept' ? 'lost' : fate
    operation.serve(told)
    const ending = changes && task === undefined && !changes.some(({ kind }) => kind === 'intent')
    if (told === 'done' || !ending) return
    this.retrying.add(changes)
    this.#world.awaited(changes)
  }

  #fails({ task, changes = [] }: Operation): void {
    const { oracle, failed } = this.#world
    const about = [task, ...changes.map((change) => 'write' in change && change.write.task)]
    const tasks = about.filter((name) => typeof name === 'string')
    if (tasks.length > 0) for (const name of new Set(tasks)) oracle.failed(name)
    else oracle.anyFailed()
    failed()
  }
}
