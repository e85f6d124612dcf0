/**
 * The store, the disk under it, and the process's life and death. DESIGN: "Raises", "A commit that fails",
 * "After an unclean stop".
 *
 * What is written is in the page cache; what is fsynced is on the disk. A killed process leaves both, a power
 * cut leaves the disk. Only one transaction is ever between the two.
 */
import { EXCHANGE, OPERATION, PERMIT, ROW, type Scope } from './words.ts'
import type { World, Write } from './world.ts'

/** Its intent is on record, or may be. */
export function hasIntent(r: Write): boolean {
  return r.row === ROW.INTENT || r.cachedRow === ROW.INTENT
}

export abstract class StoreRules {
  readonly scope: Scope

  constructor(scope: Scope) {
    this.scope = scope
  }

  /** The gate hears that its operation is durable. */
  protected abstract operationIsDurable(w: World): void
  /** The gate hears that its operation failed. */
  protected abstract operationFailed(w: World): void
  /** The gate hears that what it put on record of a write is durable. */
  protected abstract rowIsDurable(w: World, r: Write): void
  /** The gate has read the task's state. */
  protected abstract wasRead(w: World): void
  protected abstract isOpen(w: World, r: Write): boolean

  // --- Reads and commits ---

  /** "Reads see committed rows only." */
  readsState(w: World): boolean {
    if (w.operation !== OPERATION.LOAD || this.isWriting(w)) return false
    w.operation = OPERATION.NONE
    this.wasRead(w)
    return true
  }

  /** The operation's transaction is written. */
  writesOperation(w: World): boolean {
    if (w.operation <= OPERATION.LOAD || this.isWriting(w)) return false
    this.applyOperation(w)
    w.writing = true
    return true
  }

  /** "The mark is on stable storage" (P3): fsynced, and only then is the gate told. */
  syncsOperation(w: World): boolean {
    if (!w.writing) return false
    w.writing = false
    this.sync(w)
    this.operationIsDurable(w)
    return true
  }

  /** A change to a write's row is written: its intent, its unknown outcome, or that its intent is done with. */
  writesRow(w: World, r: Write): boolean {
    const row = this.wantedRow(w, r)
    if (row === undefined || this.isWriting(w)) return false
    r.cachedRow = row
    r.writing = true
    return true
  }

  syncsRow(w: World, r: Write): boolean {
    if (!r.writing) return false
    r.writing = false
    this.sync(w)
    if (r.row === this.wantedRow(w, r)) this.rowIsDurable(w, r)
    return true
  }

  /** "A full disk is a definite failure: SQLite rolled back, 503, service goes on." */
  operationIsRolledBack(w: World): boolean {
    if (w.operation === OPERATION.NONE || w.writing || !this.mayFail(w)) return false
    this.operationFailed(w)
    return true
  }

  /** The store's contract: a rejected commit may be stored all the same, so its mark is read back. */
  operationFailsThoughStored(w: World): boolean {
    if (!w.writing || !this.mayFail(w)) return false
    w.writing = false
    this.sync(w)
    this.operationFailed(w)
    return true
  }

  // --- The process ---

  /** "`kill -9`"; or "an I/O error is not [definite]: the process ends". */
  isKilled(w: World): boolean {
    if (!w.up || w.crashes === this.scope.crashes) return false
    w.crashes++
    this.ends(w)
    return true
  }

  /** "Power loss": what was written and not fsynced is gone. */
  losesPower(w: World): boolean {
    if (w.up) return false
    let lost = w.disk.pack() !== w.cache.pack()
    w.cache.copy(w.disk)
    for (const r of w.writes) {
      lost ||= r.cachedRow !== r.row
      r.cachedRow = r.row
    }
    return lost
  }

  /** A clean stop is recorded only if nothing was killed or cut and no grace is still running. */
  stopsCleanly(w: World): boolean {
    if (!w.up || w.cleanStops === this.scope.cleanStops) return false
    if (w.operation !== OPERATION.NONE || this.isWriting(w) || !this.mayStopCleanly(w)) return false
    w.cleanStops++
    this.ends(w)
    w.cache.clean = true
    this.sync(w)
    return true
  }

  /**
   * "Before any start after an unclean stop the WAL is rewritten and fsynced, then opened, so that what is read
   * is what is stored." "Every task behaves as if a lower write were open until `restartGrace` ends."
   */
  starts(w: World): boolean {
    if (w.up) return false
    w.up = true
    this.makesWalDurable(w)
    w.grace = this.owesGrace(w)
    w.cache.clean = false
    w.cache.intentsComplete = this.recordsAllIntents(w) && !this.mayHideOlderWrites(w)
    for (const r of w.writes) if (r.cachedRow === ROW.INTENT) r.cachedRow = this.openIntentBecomes()
    this.sync(w)
    return true
  }

  /** Grace ends. DESIGN P2 rests on the assumption; without it, P2 does not hold. */
  graceEnds(w: World): boolean {
    if (!w.grace || !this.graceOutlastsWork(w)) return false
    w.grace = false
    return true
  }

  // --- What these rules rest on ---

  /** "If `restartGrace` outlasts the resource's work": of the writes that nothing on record tells of. */
  protected graceOutlastsWork(w: World): boolean {
    return !w.writes.some(
      (r) => r.permit === PERMIT.OVER && r.exchange === EXCHANGE.CUT && r.cachedRow === ROW.NONE,
    )
  }

  /** "Grace is waived only where the store shows that every route recorded intents before the stop." */
  protected owesGrace(w: World): boolean {
    return !w.cache.clean && !w.cache.intentsComplete
  }

  /** A life that waits for writes of the life before does not vouch for them: if it dies, the next one waits. */
  protected mayHideOlderWrites(w: World): boolean {
    return w.grace
  }

  /** "At start every intent without outcome is unknown." */
  protected openIntentBecomes(): number {
    return ROW.UNKNOWN
  }

  protected makesWalDurable(w: World): void {
    this.sync(w)
  }

  protected mayStopCleanly(w: World): boolean {
    return !w.grace && !w.writes.some((r) => this.isOpen(w, r))
  }

  /** What is in the page cache is on the disk now. */
  protected sync(w: World): void {
    w.disk.copy(w.cache)
    for (const r of w.writes) r.row = r.cachedRow
  }

  protected applyOperation(w: World): void {
    const { cache } = w
    switch (w.operation) {
      case OPERATION.RAISE:
      case OPERATION.THAW:
        if (w.toToken > cache.token) {
          cache.token = w.toToken
          cache.complete = w.toComplete
          cache.holder = w.toHolder
        }
        if (w.operation === OPERATION.THAW) cache.frozen = false
        break
      case OPERATION.SETTLE:
        cache.complete = true
        break
      case OPERATION.NAME:
        cache.holder = w.toHolder
        break
      case OPERATION.FREEZE:
        cache.frozen = true
    }
    for (const r of w.writes) {
      if (r.inOperation) r.cachedRow = w.operation === OPERATION.RESOLVE ? ROW.RESOLVED : ROW.INTENT
    }
  }

  /** What is to be put on record of a write, if anything. */
  protected wantedRow(w: World, r: Write): number | undefined {
    if (r.permit === PERMIT.INTENDING) return ROW.INTENT
    if (r.permit === PERMIT.RECORDING) return ROW.UNKNOWN
    return r.permit === PERMIT.CLEARING || this.isLeftover(w, r) ? ROW.NONE : undefined
  }

  /** The intent of a request that gave up while it was being committed is taken back. */
  protected isLeftover(w: World, r: Write): boolean {
    return w.up && r.permit === PERMIT.OVER && hasIntent(r)
  }

  protected isWriting(w: World): boolean {
    if (w.writing) return true
    for (const r of w.writes) if (r.writing) return true
    return false
  }

  protected recordsIntent(w: World, { spec }: Write): boolean {
    if (spec.intent === 'never' || spec.intent === 'always') return spec.intent === 'always'
    const restarted = w.crashes + w.cleanStops > 0
    return restarted === (spec.intent === 'after-restart')
  }

  private recordsAllIntents(w: World): boolean {
    return w.writes.every((r) => r.spec.announces || this.recordsIntent(w, r))
  }

  private mayFail(w: World): boolean {
    if (w.failures === this.scope.failures) return false
    w.failures++
    return true
  }

  /** All that the process knew is gone; its connections are, too. */
  private ends(w: World): void {
    w.up = false
    w.grace = false
    w.writing = false
    w.operation = OPERATION.NONE
    this.forgetTask(w)
    for (const r of w.writes) {
      if (r.permit !== PERMIT.IDLE) r.permit = PERMIT.OVER
      if (r.exchange !== EXCHANGE.NONE && r.exchange < EXCHANGE.ANSWERED) r.exchange = EXCHANGE.CUT
      r.writing = r.intended = r.loose = false
    }
  }

  protected forgetTask(w: World): void {
    w.known = w.complete = w.frozen = w.toComplete = false
    w.token = w.holder = w.toToken = w.toHolder = w.lateLoad = 0
    for (const r of w.writes) r.holding = r.inOperation = false
  }
}
