/** What can be wrong with permits, with the sending, and with what is put on record of it. */
import type { Fault } from './faults.ts'
import { bytesLeave, firstByteLeaves } from './properties.ts'
import { Rules } from './rules.ts'
import { EXCHANGE, PERMIT } from './words.ts'
import type { World, Write } from './world.ts'

export const SENDER_FAULTS: readonly Fault[] = [
  {
    name: 'the last check comes too early',
    breaks: 'P1 order',
    within: 'drain',
    Rules: class extends Rules {
      override begins(w: World, r: Write): boolean {
        if (r.loose) {
          r.loose = false
          r.permit = PERMIT.BEGUN
          this.sends(w, r)
          return true
        }
        r.loose = r.permit === PERMIT.HELD
        return r.loose
      }
    },
  },
  {
    name: 'freeze does not revoke',
    breaks: 'frozen',
    within: 'operators',
    Rules: class extends Rules {
      protected override revokeFrozen(): void {}
    },
  },
  {
    name: 'a permit is released when its client leaves',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      override clientLeaves(_w: World, r: Write): boolean {
        if (r.permit !== PERMIT.BEGUN) return false
        r.permit = PERMIT.OVER
        r.loose = true
        return true
      }
      protected override isSending(r: Write): boolean {
        return r.loose || super.isSending(r)
      }
    },
  },
  {
    name: 'a permit is released when the answer ends before the body',
    breaks: 'P1 order',
    within: 'bodies',
    Rules: class extends Rules {
      protected override answerEndedEarly(_w: World, r: Write): void {
        r.permit = PERMIT.OVER
        r.loose = true
      }
      override sendsRest(w: World, r: Write): boolean {
        if (!r.loose || r.exchange !== EXCHANGE.ANSWERED_EARLY) return super.sendsRest(w, r)
        bytesLeave(w, r)
        r.exchange = EXCHANGE.ANSWERED
        r.loose = false
        return true
      }
    },
  },
  {
    name: 'retry on reset',
    breaks: 'P4 at most once',
    within: 'drain',
    Rules: class extends Rules {
      protected override connectionIsLost(w: World, r: Write): void {
        firstByteLeaves(w, r)
      }
    },
  },
  {
    name: 'a lost connection counts as not sent',
    breaks: 'P5 honest',
    within: 'drain',
    Rules: class extends Rules {
      protected override connectionIsLost(w: World, r: Write): void {
        r.exchange = EXCHANGE.CUT
        this.refuse(w, r)
      }
    },
  },
  {
    name: "an answer's head counts as an answer",
    breaks: 'P5 honest',
    within: 'drain',
    Rules: class extends Rules {
      protected override connectionIsLost(w: World, r: Write): void {
        r.exchange = EXCHANGE.CUT
        this.endAnswered(w, r)
      }
    },
  },
  {
    name: 'an unknown outcome is recorded after the release',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      protected override isOpen(w: World, r: Write): boolean {
        return r.permit !== PERMIT.RECORDING && super.isOpen(w, r)
      }
    },
  },
  {
    name: 'an intent is not waited for',
    breaks: 'P2 no overlap',
    within: 'intents',
    Rules: class extends Rules {
      protected override waitsForIntent(): boolean {
        return false
      }
    },
  },
  {
    name: 'the intent of a write that was not sent is not waited for',
    breaks: 'possession',
    within: 'hold',
    Rules: class extends Rules {
      protected override isOpen(w: World, r: Write): boolean {
        const unsent =
          r.permit !== PERMIT.INTENDING && r.permit !== PERMIT.HELD && r.exchange === EXCHANGE.NONE
        return !unsent && super.isOpen(w, r)
      }
    },
  },
  {
    name: 'the intent of a request that gave up stays',
    breaks: 'progress',
    within: 'intents',
    Rules: class extends Rules {
      protected override isLeftover(): boolean {
        return false
      }
    },
  },
]
