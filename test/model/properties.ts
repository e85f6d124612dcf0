/**
 * What must hold: the promises of DESIGN section 1, seen from where everything can be seen. Each function
 * judges one event; what is broken goes to `w.broken`.
 */
import type { GateRules } from './gate-rules.ts'
import { EXCHANGE, OPERATION, PERMIT, ROW } from './words.ts'
import type { World, Write } from './world.ts'

/** The first byte of a write is about to leave. */
export function firstByteLeaves(w: World, r: Write): void {
  // "a write is sent at most once"
  if (r.exchange !== EXCHANGE.NONE) w.broken.push('P4 at most once')
  // "one of: rejected (not sent), …; never a guess"
  if (r.toldNotSent) w.broken.push('P5 honest')
  // "frozen: a task whose writes are all refused until thawed"
  if (w.freezeAnswered) w.broken.push('frozen')
  const { holder } = r.spec
  // "token = mark, another holder named than the mark's first: 409"
  if (holder !== 0 && r.token === w.sent && w.sentHolder !== 0 && w.sentHolder !== holder) {
    w.broken.push('one holder')
  }
  isFenced(w, r)
  if (holder !== 0 && r.token === w.sent && w.sentHolder === 0) w.sentHolder = holder
}

/** A write is sent, or an announcement answered: from now on lower tokens are shut out. */
export function isFenced(w: World, r: Write): void {
  bytesLeave(w, r)
  // "the mark is on stable storage before the first byte of the write that raised it leaves"
  if (w.disk.token < r.token) w.broken.push('P3 durable first')
  for (const lower of w.writes) {
    if (lower.token < r.token && !isOver(lower)) w.broken.push('P2 no overlap')
  }
  if (r.token > w.sent) {
    w.sent = r.token
    w.sentHolder = 0
  }
}

/** "Once a write with token t of a task was sent to the resource, no write with a token below t is sent." */
export function bytesLeave(w: World, r: Write): void {
  if (r.token < w.sent) w.broken.push('P1 order')
}

/**
 * "Before the first write with token t is sent, every lower write has been answered, or is on durable record as
 * unknown (under `hold`: and resolved). After an unclean stop without intents" it is over by assumption.
 */
function isOver({ spec, exchange, row, permit }: Write): boolean {
  if (exchange === EXCHANGE.NONE || exchange === EXCHANGE.ANSWERED) return true
  if (exchange !== EXCHANGE.CUT && exchange !== EXCHANGE.CUT_AND_DONE) return false
  if (row === ROW.RESOLVED) return true
  if (spec.holds) return false
  return row === ROW.UNKNOWN || (exchange === EXCHANGE.CUT_AND_DONE && permit === PERMIT.OVER)
}

/** "One that ends unknown is released only when its record is durable." */
export function isReleased(w: World, { exchange, row }: Write): void {
  const ended =
    exchange === EXCHANGE.NONE ||
    exchange === EXCHANGE.ANSWERED ||
    (exchange >= EXCHANGE.CUT && row >= ROW.UNKNOWN)
  if (!ended) w.broken.push('recorded before release')
}

/** The client is told that nothing was sent, and by that nothing will be. */
export function isAnsweredNotSent(w: World, r: Write): void {
  if (r.exchange !== EXCHANGE.NONE) w.broken.push('P5 honest')
  r.toldNotSent = true
}

/** The client is told the resource's own answer. */
export function isAnsweredAsAnswered(w: World, { exchange }: Write): void {
  if (exchange !== EXCHANGE.ANSWERED) w.broken.push('P5 honest')
}

/** 412 says "a holder with a higher token has taken over": a restart must not find that it hasn't. */
export function isAnsweredStale(w: World, r: Write): void {
  if (w.disk.token <= r.token) w.broken.push('P5 honest')
}

/**
 * "After an unclean stop … a token equal to the mark passes if its handover is recorded complete": who has
 * written, and nobody with a higher token came, goes on writing, whatever happened to the sidecar.
 */
export function holderIsServed(w: World, rules: GateRules): void {
  if (!w.known || w.operation !== OPERATION.NONE || w.token !== w.sent || w.frozen) return
  for (const r of w.writes) {
    if (r.permit !== PERMIT.ASKING || r.token !== w.sent) continue
    const decision = rules.decision(w, r)
    if (decision !== 'permit' && decision !== 'name' && decision !== 'token-conflict') {
      w.broken.push('possession')
    }
  }
}

/**
 * "No stalled holder can keep its successor out for ever": from every state a state of rest can be reached by
 * steps that are certain to come, though no client does anything, the resource answers nothing and no request
 * is told to come back. A state is at rest when nobody waits and nothing is left to be put on record.
 */
export function isAtRest(w: World): boolean {
  if (!w.up) return true
  return !w.writes.some(
    ({ permit, cachedRow }) =>
      permit === PERMIT.ASKING ||
      permit === PERMIT.INTENDING ||
      permit === PERMIT.RECORDING ||
      permit === PERMIT.CLEARING ||
      (permit === PERMIT.OVER && cachedRow === ROW.INTENT),
  )
}
