/** One process in the faulty world: all that a restart replaces. */
import { Gate } from '../../src/gate/gate.ts'
import { FaultyAttempts } from './faulty-attempts.ts'
import type { OperationsJudge } from './faulty-operations.ts'
import { FaultyOperator } from './faulty-operator.ts'
import type { Oracle, Write } from './faulty-oracle.ts'
import type { WorldOptions } from './faulty-steps.ts'
import { FaultyStore } from './faulty-store.ts'
import type { MemoryDisk } from './store-memory-disk.ts'
import { VirtualClock } from './virtual-clock.ts'

interface Surroundings {
  readonly disk: MemoryDisk
  readonly options: WorldOptions
  readonly oracle: Oracle
  readonly judge: OperationsJudge
  /** A write may be sent. */
  readonly permitted: (write: Write, holder: string | undefined) => void
  /** Runs a check where an exception would be taken for the gate's or the store's. */
  readonly guard: (check: () => void) => void
  readonly fault: (error: unknown) => void
}

export class FaultyProcess {
  readonly clock: VirtualClock
  readonly store: FaultyStore
  readonly gate: Gate
  readonly operator: FaultyOperator
  readonly attempts: FaultyAttempts

  constructor(world: Surroundings, intentsComplete: boolean, startMs = 0) {
    const { disk, options, oracle, judge, permitted, guard, fault } = world
    const clock = new VirtualClock(startMs)
    this.clock = clock
    this.store = new FaultyStore({
      ...{ disk, oracle, clock, intentsComplete, guard },
      awaited: (changes) => judge.awaited(changes),
      stored: (changes) => judge.stored(changes, clock.now()),
      failed: () => this.operator.storeFailed(),
    })
    const store = this.store.memory
    const { graceMs, storeTimeoutMs } = options
    const { unclean, intentsWereComplete } = store.origin
    if (unclean && intentsWereComplete) oracle.saw('grace waived')
    const gate = new Gate({
      ...{ ...options, store, clock },
      graceMs: unclean && !intentsWereComplete ? graceMs : 0,
      observer: {
        raised: () => oracle.saw('raise'),
        handedOver: () => oracle.saw('handover'),
        used: () => {},
      },
    })
    this.gate = gate
    this.operator = new FaultyOperator({ gate, store, oracle, clock, storeTimeoutMs, fault })
    const mark = (task: string) => disk.mark(task).token
    this.attempts = new FaultyAttempts({ gate, clock, oracle, judge, mark, permitted, guard, fault })
  }
}
