/** Every step that the model can take: the rule, and the words that a counterexample has for it. */
import type { Rules } from './rules.ts'
import { OPERATION } from './words.ts'
import type { World, Write } from './world.ts'

export interface Step {
  /** Whether it is made once, or for each write. */
  readonly of: 'task' | 'write'
  /** The rule's name. */
  readonly rule: string
  readonly text: string
  /** It comes by itself, whatever clients, operators and the resource's answers do: see `isAtRest`. */
  readonly certain: boolean
  readonly apply: (rules: Rules, w: World, r: Write) => boolean
}

type RuleName = keyof {
  [K in keyof Rules as Rules[K] extends (w: World, r: Write) => boolean ? K : never]: true
}

/** `%` stands for the operation. */
function ofTask(rule: RuleName, text: string, apply: Step['apply'], certain = false): Step {
  return { of: 'task', rule, text, apply, certain }
}

/** `%` stands for the write. */
function ofWrite(rule: RuleName, text: string, apply: Step['apply'], certain = false): Step {
  return { of: 'write', rule, text, apply, certain }
}

/** What the steps of the task are made for; they don't look at it. */
const NO_WRITE = [undefined as unknown as Write] as const

/** The writes for which a step may be made. */
export function subjects({ of }: Step, w: World): readonly Write[] {
  return of === 'task' ? NO_WRITE : w.writes
}

export const STEPS: readonly Step[] = [
  ofTask('loads', "the gate asks for the task's state", (x, w) => x.loads(w), true),
  ofTask('settles', 'the gate submits that the handover is complete', (x, w) => x.settles(w), true),
  ofTask('isEvicted', 'the task is evicted', (x, w) => x.isEvicted(w)),
  ofTask('readsState', "the task's state is read", (x, w) => x.readsState(w), true),
  ofTask('writesOperation', 'the commit (%) is written', (x, w) => x.writesOperation(w), true),
  ofTask('syncsOperation', 'the commit (%) is done and the gate told', (x, w) => x.syncsOperation(w), true),
  ofTask('operationIsRolledBack', 'the operation (%) fails: disk full', (x, w) => x.operationIsRolledBack(w)),
  ofTask('operationFailsThoughStored', 'the commit (%) is stored, but reported as failed', (x, w) =>
    x.operationFailsThoughStored(w),
  ),
  ofTask('isKilled', 'the sidecar is killed', (x, w) => x.isKilled(w)),
  ofTask('losesPower', 'power is lost, and with it what was not fsynced', (x, w) => x.losesPower(w)),
  ofTask('stopsCleanly', 'the sidecar stops cleanly', (x, w) => x.stopsCleanly(w)),
  ofTask('starts', 'the sidecar starts', (x, w) => x.starts(w)),
  ofTask('graceEnds', 'grace ends', (x, w) => x.graceEnds(w), true),
  ofTask('freezes', 'an operator freezes the task', (x, w) => x.freezes(w)),
  ofTask('thaws', 'an operator thaws the task', (x, w) => x.thaws(w)),

  ofWrite('asks', '% asks', (x, w, r) => x.asks(w, r)),
  ofWrite('isRefusedFrozen', '% is refused: task-frozen', (x, w, r) => x.isRefusedFrozen(w, r), true),
  ofWrite('isRefusedStale', '% is refused: stale-token', (x, w, r) => x.isRefusedStale(w, r), true),
  ofWrite('isRefusedConflict', '% is refused: token-conflict', (x, w, r) => x.isRefusedConflict(w, r), true),
  ofWrite('isRefusedHeld', '% is refused: handover-held', (x, w, r) => x.isRefusedHeld(w, r), true),
  ofWrite('isRefusedPending', '% is refused: handover-pending', (x, w, r) => x.isRefusedPending(w, r)),
  ofWrite('isRefusedUnavailable', '% is refused: store-unavailable', (x, w, r) =>
    x.isRefusedUnavailable(w, r),
  ),
  ofWrite('raises', 'the gate submits the raise that % asks for', (x, w, r) => x.raises(w, r), true),
  ofWrite('names', "the gate submits %'s holder", (x, w, r) => x.names(w, r), true),
  ofWrite('isPermitted', '% is permitted', (x, w, r) => x.isPermitted(w, r), true),
  ofWrite('begins', "the last check, and %'s first byte leaves", (x, w, r) => x.begins(w, r)),
  ofWrite('isSevered', "drainLimit: %'s connection is destroyed", (x, w, r) => x.isSevered(w, r), true),
  ofWrite('writesRow', 'what is to be on record of % is written', (x, w, r) => x.writesRow(w, r), true),
  ofWrite('syncsRow', 'what is on record of % is durable', (x, w, r) => x.syncsRow(w, r), true),
  ofWrite('sendsRest', "the rest of %'s body leaves", (x, w, r) => x.sendsRest(w, r)),
  ofWrite('isAnswered', '% is answered', (x, w, r) => x.isAnswered(w, r)),
  ofWrite('isAnsweredEarly', "%'s answer ends before its body does", (x, w, r) => x.isAnsweredEarly(w, r)),
  ofWrite('isCutAfterAnswer', "%'s connection is destroyed after the answer", (x, w, r) =>
    x.isCutAfterAnswer(w, r),
  ),
  ofWrite('isReset', "%'s connection is lost before an answer", (x, w, r) => x.isReset(w, r)),
  ofWrite('isDoneInside', 'the resource is done with %', (x, w, r) => x.isDoneInside(w, r), true),
  ofWrite('isNotSent', '% gets no connection, or its client leaves', (x, w, r) => x.isNotSent(w, r)),
  ofWrite('clientLeaves', "%'s client leaves within its body", (x, w, r) => x.clientLeaves(w, r)),
  ofWrite('thawsTo', "an operator thaws the task to %'s token", (x, w, r) => x.thawsTo(w, r)),
  ofWrite('isRaisedTo', "an operator raises to %'s token", (x, w, r) => x.isRaisedTo(w, r)),
  ofWrite('isResolved', "an operator resolves %'s outcome", (x, w, r) => x.isResolved(w, r)),
]

const OPERATIONS = new Map<number, string>([
  [OPERATION.LOAD, 'load'],
  [OPERATION.RAISE, 'raise to'],
  [OPERATION.SETTLE, 'handover complete'],
  [OPERATION.NAME, 'name the holder'],
  [OPERATION.FREEZE, 'freeze'],
  [OPERATION.THAW, 'thaw'],
  [OPERATION.RESOLVE, 'resolve'],
])

/** What a step does that is about to be made. */
export function describe({ of, text }: Step, w: World, r: Write): string {
  if (of === 'write') return text.replace('%', r.spec.name)
  const to = w.toToken === 0 ? '' : ` ${w.toToken}${w.toComplete ? ', complete' : ''}`
  return text.replace('%', `${OPERATIONS.get(w.operation)}${to}`)
}
