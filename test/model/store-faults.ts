/** What can be wrong in the store, and with the end and the start of the process. */
import type { Fault } from './faults.ts'
import { Rules } from './rules.ts'
import { ROW } from './words.ts'
import type { World } from './world.ts'

export const STORE_FAULTS: readonly Fault[] = [
  {
    name: 'a commit is not fsynced',
    breaks: 'P3 durable first',
    within: 'drain',
    Rules: class extends Rules {
      override syncsOperation(w: World): boolean {
        if (!w.writing) return false
        w.writing = false
        this.operationIsDurable(w)
        return true
      }
    },
  },
  {
    name: 'an I/O error is taken for a full disk',
    breaks: 'P3 durable first',
    within: 'drain',
    Rules: class extends Rules {
      override operationFailsThoughStored(w: World): boolean {
        if (!w.writing) return false
        w.writing = false
        this.operationFailed(w)
        return true
      }
    },
  },
  {
    name: 'a restart trusts the page cache',
    breaks: 'P3 durable first',
    within: 'drain',
    Rules: class extends Rules {
      override starts(w: World): boolean {
        const { token } = w.disk
        if (!super.starts(w)) return false
        w.disk.token = token // A later fsync skips the pages that the failed one has marked clean.
        return true
      }
    },
  },
  {
    name: 'a restart forgets intents',
    breaks: 'P2 no overlap',
    within: 'intents',
    Rules: class extends Rules {
      protected override openIntentBecomes(): number {
        return ROW.NONE
      }
    },
  },
  {
    name: 'a restart forgets grace',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      protected override owesGrace(): boolean {
        return false
      }
    },
  },
  {
    name: 'a restart in grace vouches for all writes',
    breaks: 'P2 no overlap',
    within: 'intents after a restart',
    Rules: class extends Rules {
      protected override mayHideOlderWrites(): boolean {
        return false
      }
    },
  },
  {
    name: 'a stop counts as clean though a write is open',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      protected override mayStopCleanly(w: World): boolean {
        return !w.grace
      }
    },
  },
  {
    name: 'a stop counts as clean though grace is running',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      protected override mayStopCleanly(w: World): boolean {
        return !w.writes.some((r) => this.isOpen(w, r))
      }
    },
  },
  /** Not a rule, but what P2 rests on after an unclean stop without intents. */
  {
    name: 'grace is shorter than the work of the resource',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      protected override graceOutlastsWork(): boolean {
        return true
      }
    },
  },
]
