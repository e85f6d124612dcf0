/** What can be wrong in the decision, and in raises and handovers. */
import { type Decision, decide, type View } from './decision.ts'
import type { Fault } from './faults.ts'
import { Rules } from './rules.ts'
import { OPERATION, PERMIT } from './words.ts'
import type { World, Write } from './world.ts'

export const GATE_FAULTS: readonly Fault[] = [
  {
    name: '`<=` for `<`: the mark counts as stale itself',
    breaks: 'P5 honest',
    within: 'drain',
    Rules: class extends Rules {
      protected override decide(view: View, r: Write): Decision {
        return r.token <= view.token ? 'stale-token' : super.decide(view, r)
      }
    },
  },
  {
    name: 'no drain',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      protected override lowerOpen(w: World): boolean {
        return w.grace
      }
    },
  },
  {
    name: 'an announcement is answered before the drain',
    breaks: 'P2 no overlap',
    within: 'named holders',
    Rules: class extends Rules {
      protected override decide(view: View, r: Write): Decision {
        const decision = super.decide(view, r)
        return r.spec.announces && decision === 'drain' ? 'permit' : decision
      }
    },
  },
  {
    name: 'hold ignored',
    breaks: 'P2 no overlap',
    within: 'hold',
    Rules: class extends Rules {
      protected override decide(view: View, r: Write): Decision {
        return super.decide({ ...view, lowerHeld: false }, r)
      }
    },
  },
  {
    name: 'a hold that is recorded while a raise commits is missed',
    breaks: 'P2 no overlap',
    within: 'hold',
    Rules: class extends Rules {
      protected override isHeldFromNow(w: World, r: Write): void {
        if (w.operation === OPERATION.NONE) super.isHeldFromNow(w, r)
      }
    },
  },
  {
    name: 'a second holder of one token passes',
    breaks: 'one holder',
    within: 'named holders',
    Rules: class extends Rules {
      protected override decide(view: View, r: Write): Decision {
        return decide(view, r.token, 0)
      }
    },
  },
  {
    name: 'the mark is cached before its commit',
    breaks: 'P3 durable first',
    within: 'drain',
    Rules: class extends Rules {
      override raises(w: World, r: Write): boolean {
        if (!super.raises(w, r)) return false
        w.token = w.toToken
        w.complete = w.toComplete
        return true
      }
      override decision(w: World, r: Write): Decision | undefined {
        if (w.operation !== OPERATION.RAISE) return super.decision(w, r)
        w.operation = OPERATION.NONE
        const decision = super.decision(w, r)
        w.operation = OPERATION.RAISE
        return decision
      }
    },
  },
  {
    name: 'a failed commit is taken for done',
    breaks: 'P3 durable first',
    within: 'drain',
    Rules: class extends Rules {
      protected override operationFailed(w: World): void {
        this.operationIsDurable(w)
      }
    },
  },
  {
    name: 'lower permits are revoked before the raise is durable',
    breaks: 'P5 honest',
    within: 'drain',
    Rules: class extends Rules {
      override raises(w: World, r: Write): boolean {
        if (!super.raises(w, r)) return false
        this.revokeStale(w, r.token)
        return true
      }
    },
  },
  {
    name: 'lower permits are not revoked',
    breaks: 'progress',
    within: 'drain',
    Rules: class extends Rules {
      protected override revokeStale(): void {}
    },
  },
  {
    name: 'no drain limit',
    breaks: 'progress',
    within: 'drain',
    Rules: class extends Rules {
      override isSevered(): boolean {
        return false
      }
    },
  },
  {
    name: 'the end of a drain is not noticed',
    breaks: 'progress',
    within: 'drain',
    Rules: class extends Rules {
      override settles(): boolean {
        return false
      }
    },
  },
  {
    name: 'handover completion recorded too early',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      protected override isCompleteWhenRaised(): boolean {
        return true
      }
    },
  },
  {
    name: 'handover completion not recorded',
    breaks: 'possession',
    within: 'drain',
    Rules: class extends Rules {
      protected override isCompleteWhenRaised(): boolean {
        return false
      }
      override settles(): boolean {
        return false
      }
      protected override decide(view: View, r: Write): Decision {
        return super.decide({ ...view, complete: !view.lowerOpen }, r)
      }
    },
  },
  {
    name: 'abort does not wait until the connection is destroyed',
    breaks: 'P1 order',
    within: 'abort',
    Rules: class extends Rules {
      protected override sever(r: Write): void {
        r.permit = PERMIT.RECORDING
        r.loose = true
      }
      protected override isSending(r: Write): boolean {
        return r.loose || super.isSending(r)
      }
    },
  },
  {
    name: 'evicted while loading',
    breaks: 'P1 order',
    within: 'drain',
    Rules: class extends Rules {
      override isEvicted(w: World): boolean {
        if (w.operation !== OPERATION.LOAD || w.lateLoad !== 0) return super.isEvicted(w)
        w.operation = OPERATION.NONE
        w.lateLoad = w.cache.token * 2 + Number(w.cache.complete) + 1
        return true
      }
      override readsState(w: World): boolean {
        if (w.lateLoad === 0 || w.operation !== OPERATION.NONE) return super.readsState(w)
        w.known = true
        w.token = (w.lateLoad - 1) >> 1
        w.complete = ((w.lateLoad - 1) & 1) === 1
        w.lateLoad = 0
        return true
      }
    },
  },
  {
    name: 'evicted with an open write',
    breaks: 'P2 no overlap',
    within: 'drain',
    Rules: class extends Rules {
      override isEvicted(w: World): boolean {
        if (!super.isEvicted(w)) return false
        for (const r of w.writes) r.loose = r.permit >= PERMIT.HELD && r.permit < PERMIT.OVER
        return true
      }
      protected override isIdle(w: World): boolean {
        return w.operation === OPERATION.NONE && !w.writes.some((r) => r.permit === PERMIT.ASKING)
      }
      protected override isOpen(w: World, r: Write): boolean {
        return !r.loose && super.isOpen(w, r)
      }
    },
  },
]
