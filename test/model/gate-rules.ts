/**
 * The gate: requests, raises, handovers, permits. DESIGN: "The decision", "Raises", "Permits", "Whose rule".
 *
 * Time is not in the model: what a time-out may do, it may do whenever its condition holds.
 */
import { type Decision, decide, type View } from './decision.ts'
import { firstByteLeaves, isAnsweredNotSent, isAnsweredStale, isFenced, isReleased } from './properties.ts'
import { hasIntent, StoreRules } from './store-rules.ts'
import { EXCHANGE, OPERATION, PERMIT, ROW } from './words.ts'
import type { World, Write } from './world.ts'

export abstract class GateRules extends StoreRules {
  // --- A request's way ---

  asks(w: World, r: Write): boolean {
    if (!w.up || r.permit !== PERMIT.IDLE) return false
    r.permit = PERMIT.ASKING
    return true
  }

  /** "Loads … of one task are serialised": one operation at a time. */
  loads(w: World): boolean {
    if (!w.up || w.known || w.operation !== OPERATION.NONE) return false
    if (!this.mayAct(w) && !w.writes.some((r) => r.permit === PERMIT.ASKING)) return false
    w.operation = OPERATION.LOAD
    return true
  }

  /** frozen | 423 `task-frozen` */
  isRefusedFrozen(w: World, r: Write): boolean {
    return this.decision(w, r) === 'task-frozen' && this.refuse(w, r)
  }

  /** token < mark | 412 `stale-token` */
  isRefusedStale(w: World, r: Write): boolean {
    if (this.decision(w, r) !== 'stale-token') return false
    isAnsweredStale(w, r)
    return this.refuse(w, r)
  }

  /** token = mark, another holder named than the mark's first | 409 `token-conflict` */
  isRefusedConflict(w: World, r: Write): boolean {
    return this.decision(w, r) === 'token-conflict' && this.refuse(w, r)
  }

  /** a lower write has an unresolved unknown outcome and its route says `hold` | 503 `handover-held` */
  isRefusedHeld(w: World, r: Write): boolean {
    return this.decision(w, r) === 'handover-held' && this.refuse(w, r)
  }

  /** lower writes still open after `handoverTimeout` (`drain`) | 503 `handover-pending`; the mark stays raised */
  isRefusedPending(w: World, r: Write): boolean {
    return this.decision(w, r) === 'drain' && this.refuse(w, r)
  }

  /** mark cannot be read or written | 503 `store-unavailable`; "while one is being committed, others wait" */
  isRefusedUnavailable(w: World, r: Write): boolean {
    const waits = r.permit === PERMIT.ASKING && (w.operation !== OPERATION.NONE || !w.known)
    return (waits || r.permit === PERMIT.INTENDING) && this.refuse(w, r)
  }

  /**
   * token > mark | raise durably, then as equal.
   * "That a handover is complete is part of the mark's record: written with the raise if nothing lower was
   * open." An intent goes with it, if nothing keeps its write waiting after.
   *
   * Which of several requests raises first is left open; "the highest wins" is one of the orders.
   */
  raises(w: World, r: Write): boolean {
    if (this.decision(w, r) !== 'raise') return false
    w.operation = OPERATION.RAISE
    w.toToken = r.token
    w.toHolder = r.spec.holder
    w.toComplete = this.isCompleteWhenRaised(w, r.token)
    r.inOperation =
      this.recordsIntent(w, r) && w.toComplete && !r.intended && !w.writes.some((other) => other.holding)
    return true
  }

  /** "Else when the drain ends": the handover's completion is put on record. */
  settles(w: World): boolean {
    if (!w.up || !w.known || w.operation !== OPERATION.NONE || w.complete || w.token === 0) return false
    if (this.lowerOpen(w, w.token)) return false
    w.operation = OPERATION.SETTLE
    return true
  }

  /** The mark keeps the first holder that is named with it. */
  names(w: World, r: Write): boolean {
    if (this.decision(w, r) !== 'name') return false
    w.operation = OPERATION.NAME
    w.toHolder = r.spec.holder
    return true
  }

  /**
   * token = mark | permit, once no lower write is open and no lower unknown is held.
   * `intent: durable`: "an intent is committed before the send".
   */
  isPermitted(w: World, r: Write): boolean {
    if (this.decision(w, r) !== 'permit') return false
    if (r.spec.announces) {
      isFenced(w, r)
      r.permit = PERMIT.OVER
    } else {
      r.permit = this.waitsForIntent(w, r) ? PERMIT.INTENDING : PERMIT.HELD
    }
    return true
  }

  /** mark risen or task frozen since the decision, checked before the first byte is written: one step. */
  begins(w: World, r: Write): boolean {
    if (r.permit !== PERMIT.HELD) return false
    r.permit = PERMIT.BEGUN
    this.sends(w, r)
    return true
  }

  // --- Handovers ---

  /** "A higher token that has waited `drainLimit` severs what is still open, as `abort` does." */
  isSevered(w: World, r: Write): boolean {
    if (r.permit !== PERMIT.BEGUN || !w.known || w.complete || r.token >= w.token) return false
    this.sever(r)
    return true
  }

  /** "A task with a load, raise, waiter or open write is never evicted." */
  isEvicted(w: World): boolean {
    if (!w.known || !this.isIdle(w)) return false
    this.forgetTask(w)
    return true
  }

  // --- What the store says ---

  protected operationIsDurable(w: World): void {
    const { operation } = w
    if (operation === OPERATION.SETTLE) w.complete = true
    else if (operation === OPERATION.NAME) w.holder = w.toHolder
    else if (operation === OPERATION.FREEZE) this.freezeIsDurable(w)
    else if (operation === OPERATION.RAISE || operation === OPERATION.THAW) this.raiseIsDurable(w)
    for (const r of w.writes) {
      if (!r.inOperation) continue
      r.inOperation = false
      if (operation === OPERATION.RESOLVE) r.holding = false
      else if (r.permit === PERMIT.ASKING) r.intended = true
    }
    this.operationEnds(w)
  }

  /** "No write of a task in that batch is permitted until its mark has been read back." */
  protected operationFailed(w: World): void {
    this.operationEnds(w)
    this.forgetTask(w)
  }

  protected wasRead(w: World): void {
    w.known = true
    w.token = w.cache.token
    w.complete = w.cache.complete
    w.frozen = w.cache.frozen
    w.holder = w.cache.holder
    for (const r of w.writes) r.holding = r.spec.holds && r.cachedRow === ROW.UNKNOWN
    if (w.frozen) this.revokeFrozen(w)
    if (!w.complete) this.takeOver(w)
  }

  protected rowIsDurable(w: World, r: Write): void {
    if (r.permit === PERMIT.INTENDING) {
      r.permit = PERMIT.HELD
      r.intended = true
    } else if (r.permit === PERMIT.RECORDING) {
      this.isHeldFromNow(w, r)
      this.release(w, r)
    } else if (r.permit === PERMIT.CLEARING) {
      this.release(w, r)
    }
  }

  private raiseIsDurable(w: World): void {
    if (w.operation === OPERATION.THAW) w.frozen = false
    if (w.toToken <= w.token) return
    w.token = w.toToken
    w.complete = w.toComplete
    w.holder = w.toHolder
    this.takeOver(w)
  }

  /**
   * "Once a raise is durable, lower permits of which nothing was sent are revoked (412)". `abort`: "older open
   * writes lose their upstream connection".
   */
  private takeOver(w: World): void {
    this.revokeStale(w, w.token)
    for (const r of w.writes) {
      if (r.permit === PERMIT.BEGUN && r.token < w.token && r.spec.aborts) this.sever(r)
    }
  }

  private freezeIsDurable(w: World): void {
    w.frozen = true
    w.freezeAnswered = true
    this.revokeFrozen(w)
  }

  private operationEnds(w: World): void {
    w.operation = OPERATION.NONE
    w.toComplete = false
    w.toToken = w.toHolder = 0
    for (const r of w.writes) r.inOperation = false
  }

  // --- What these rules rest on ---

  /** What the gate says of a request now; undefined while it can't say anything. */
  decision(w: World, r: Write): Decision | undefined {
    if (r.permit !== PERMIT.ASKING || w.operation !== OPERATION.NONE || !w.known) return undefined
    const view: View = {
      frozen: w.frozen,
      token: w.token,
      complete: w.complete,
      holder: w.holder,
      lowerOpen: this.lowerOpen(w, w.token),
      lowerHeld: w.writes.some((other) => other.holding && other.token < w.token),
    }
    return this.decide(view, r)
  }

  protected decide(view: View, r: Write): Decision {
    return decide(view, r.token, r.spec.holder)
  }

  /**
   * "A permit counts as open from the decision until the answer has ended and the request body was sent whole,
   * or the upstream connection was destroyed." "One that ends unknown is released only when its record is
   * durable", and one with an intent when that is taken back.
   */
  protected isOpen(w: World, r: Write): boolean {
    if (r.permit === PERMIT.ASKING) return hasIntent(r)
    return (r.permit >= PERMIT.INTENDING && r.permit <= PERMIT.CLEARING) || this.isLeftover(w, r)
  }

  /** "Every task behaves as if a lower write were open until `restartGrace` ends." */
  protected lowerOpen(w: World, token: number): boolean {
    if (w.grace) return true
    for (const r of w.writes) if (r.token < token && this.isOpen(w, r)) return true
    return false
  }

  protected isCompleteWhenRaised(w: World, token: number): boolean {
    return !this.lowerOpen(w, token)
  }

  protected waitsForIntent(w: World, r: Write): boolean {
    return this.recordsIntent(w, r) && !r.intended
  }

  protected isIdle(w: World): boolean {
    return (
      w.operation === OPERATION.NONE && !w.writes.some((r) => r.permit === PERMIT.ASKING || this.isOpen(w, r))
    )
  }

  /** Whether operators may still act, for which the task has to be read. */
  protected abstract mayAct(w: World): boolean

  protected isHeldFromNow(w: World, r: Write): void {
    if (w.known && r.spec.holds) r.holding = true
  }

  /** 423: no permit is left with which a write could begin. */
  protected revokeFrozen(w: World): void {
    for (const r of w.writes) if (this.isRevocable(r)) this.refuse(w, r)
  }

  /** 412 */
  protected revokeStale(w: World, token: number): void {
    for (const r of w.writes) {
      if (r.token >= token || !this.isRevocable(r)) continue
      isAnsweredStale(w, r)
      this.refuse(w, r)
    }
  }

  private isRevocable(r: Write): boolean {
    return r.permit === PERMIT.INTENDING || r.permit === PERMIT.HELD
  }

  /** The connection is destroyed; the client, if it is still there, is told 502 `superseded`: sent, unknown. */
  protected sever(r: Write): void {
    r.exchange = EXCHANGE.CUT
    r.permit = PERMIT.RECORDING
  }

  /** The client is told that nothing was sent. */
  protected refuse(w: World, r: Write): boolean {
    isAnsweredNotSent(w, r)
    r.permit = hasIntent(r) ? PERMIT.CLEARING : PERMIT.OVER
    r.intended = false
    return true
  }

  protected sends(w: World, r: Write): void {
    firstByteLeaves(w, r)
    r.exchange = r.spec.body ? EXCHANGE.FLOWING : EXCHANGE.WHOLE
  }

  protected release(w: World, r: Write): void {
    isReleased(w, r)
    r.permit = PERMIT.OVER
    r.intended = false
  }
}
