/**
 * All rules: those of the store and the gate, and here the sender, the resource, the clients and the operators.
 */
import { GateRules } from './gate-rules.ts'
import { bytesLeave, isAnsweredAsAnswered } from './properties.ts'
import { hasIntent } from './store-rules.ts'
import { EXCHANGE, OPERATION, PERMIT, ROW } from './words.ts'
import type { World, Write } from './world.ts'

export class Rules extends GateRules {
  // --- The sender and the resource ---

  /** The rest of the body leaves. */
  sendsRest(w: World, r: Write): boolean {
    if (!this.isSending(r) || r.exchange !== EXCHANGE.FLOWING) return false
    bytesLeave(w, r)
    r.exchange = EXCHANGE.WHOLE
    return true
  }

  /** "Until the answer has ended and the request body was sent whole." */
  isAnswered(w: World, r: Write): boolean {
    if (!this.isSending(r) || r.exchange !== EXCHANGE.WHOLE) return false
    r.exchange = EXCHANGE.ANSWERED
    this.endAnswered(w, r)
    return true
  }

  /** An answer may end before the body has; what is left of the body must not go out after the release. */
  isAnsweredEarly(w: World, r: Write): boolean {
    if (!this.isSending(r) || r.exchange !== EXCHANGE.FLOWING) return false
    r.exchange = EXCHANGE.ANSWERED_EARLY
    this.answerEndedEarly(w, r)
    return true
  }

  /** … "Or the upstream connection was destroyed". */
  isCutAfterAnswer(w: World, r: Write): boolean {
    if (r.permit !== PERMIT.BEGUN || r.exchange !== EXCHANGE.ANSWERED_EARLY) return false
    r.exchange = EXCHANGE.ANSWERED
    this.endAnswered(w, r)
    return true
  }

  /** sent, no whole answer | 502 / 504 `outcome-unknown`; so do answers of `unknownStatuses` */
  isReset(w: World, r: Write): boolean {
    if (r.permit !== PERMIT.BEGUN) return false
    if (r.exchange !== EXCHANGE.FLOWING && r.exchange !== EXCHANGE.WHOLE) return false
    this.connectionIsLost(w, r)
    return true
  }

  /** "Bytes already inside the resource cannot be recalled": they may be applied long after. */
  isDoneInside(_w: World, r: Write): boolean {
    if (r.exchange !== EXCHANGE.CUT) return false
    r.exchange = EXCHANGE.CUT_AND_DONE
    return true
  }

  // --- Clients ---

  /** could not connect | 502 `upstream-unreachable` (not sent); or the client leaves before anything was sent */
  isNotSent(w: World, r: Write): boolean {
    return r.permit === PERMIT.HELD && this.refuse(w, r)
  }

  /** "Clients that leave before their body is complete abort the upstream request." */
  clientLeaves(w: World, r: Write): boolean {
    if (r.permit !== PERMIT.BEGUN || r.exchange !== EXCHANGE.FLOWING) return false
    this.bodyEndsMissing(w, r)
    return true
  }

  // --- Operators ---

  /** "Frozen: a task whose writes are all refused until thawed." */
  freezes(w: World): boolean {
    if (!this.mayActNow(w) || w.frozen) return false
    w.acts++
    w.operation = OPERATION.FREEZE
    return true
  }

  /** Thaws, "optionally `--token T`: raises to the elected holder's token in the same commit". */
  thaws(w: World): boolean {
    if (!this.mayActNow(w) || !w.frozen) return false
    w.acts++
    w.operation = OPERATION.THAW
    w.freezeAnswered = false
    return true
  }

  thawsTo(w: World, r: Write): boolean {
    if (r.token <= w.token || !this.thaws(w)) return false
    this.raiseTo(w, r.token)
    return true
  }

  /** An operator's raise, to the token of a holder that need not have been heard of. */
  isRaisedTo(w: World, r: Write): boolean {
    if (!this.mayActNow(w) || r.token <= w.token) return false
    w.acts++
    w.operation = OPERATION.RAISE
    this.raiseTo(w, r.token)
    return true
  }

  /** An unknown outcome is resolved as applied, not applied or compensated. */
  isResolved(w: World, r: Write): boolean {
    if (!w.up || !w.known || w.operation !== OPERATION.NONE) return false
    if (r.row !== ROW.UNKNOWN || r.permit !== PERMIT.OVER || !r.spec.holds) return false
    w.operation = OPERATION.RESOLVE
    r.inOperation = true
    return true
  }

  // --- What these rules rest on ---

  /** Whether more of the exchange can happen: the sender has the connection. */
  protected isSending(r: Write): boolean {
    return r.permit === PERMIT.BEGUN
  }

  /** The client has the resource's own answer. */
  protected endAnswered(w: World, r: Write): void {
    isAnsweredAsAnswered(w, r)
    if (hasIntent(r)) r.permit = PERMIT.CLEARING
    else this.release(w, r)
  }

  protected answerEndedEarly(_w: World, _r: Write): void {}

  protected connectionIsLost(_w: World, r: Write): void {
    this.sever(r)
  }

  protected bodyEndsMissing(_w: World, r: Write): void {
    this.sever(r)
  }

  protected mayAct(w: World): boolean {
    return w.acts < this.scope.acts || w.writes.some((r) => r.spec.holds && r.row === ROW.UNKNOWN)
  }

  private mayActNow(w: World): boolean {
    return w.up && w.known && w.operation === OPERATION.NONE && w.acts < this.scope.acts
  }

  private raiseTo(w: World, token: number): void {
    w.toToken = token
    w.toComplete = this.isCompleteWhenRaised(w, token)
  }
}
