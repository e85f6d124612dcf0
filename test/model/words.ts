/** The model's words: what a write, an operation and a scope are made of, and the names of the promises. */

/** A write's way through the gate. From INTENDING to CLEARING its permit is open. */
export const PERMIT = {
  IDLE: 0,
  /** Its request is in the gate and waits. */
  ASKING: 1,
  /** Permitted, once its intent is durable. */
  INTENDING: 2,
  /** Nothing was sent yet: it waits for a connection, or for its client's body. */
  HELD: 3,
  BEGUN: 4,
  /** Ended unknown, and that is being put on record. */
  RECORDING: 5,
  /** Answered or not sent, and its intent is being taken back. */
  CLEARING: 6,
  /** Refused, revoked or released, or its process is dead. */
  OVER: 7,
} as const

/** A write between the sidecar and the resource. */
export const EXCHANGE = {
  NONE: 0,
  /** Its head has left, the rest of its body hasn't. */
  FLOWING: 1,
  /** The answer has ended before the body has. */
  ANSWERED_EARLY: 2,
  /** All of it has left: on its way, or at work in the resource. */
  WHOLE: 3,
  ANSWERED: 4,
  /** The connection is destroyed; what is inside the resource is still at work. */
  CUT: 5,
  /** The connection is destroyed, and the resource is done with it, whatever came of it. */
  CUT_AND_DONE: 6,
} as const

/** A write on record. */
export const ROW = { NONE: 0, INTENT: 1, UNKNOWN: 2, RESOLVED: 3 } as const

/** The one store operation that a task has under way. */
export const OPERATION = {
  NONE: 0,
  LOAD: 1,
  RAISE: 2,
  SETTLE: 3,
  NAME: 4,
  FREEZE: 5,
  /** With a token: raises to it in the same commit. */
  THAW: 6,
  RESOLVE: 7,
} as const

/** A write as a scope has it. */
export interface WriteSpec {
  readonly name: string
  readonly token: number
  /** `onUnknown: hold`; implies intents. */
  readonly holds: boolean
  /** `handover: abort`, otherwise `drain`. */
  readonly aborts: boolean
  /** `intent: durable`: in which of the sidecar's lives. */
  readonly intent: 'never' | 'always' | 'after-restart' | 'until-restart'
  /** Whether it has a body, which leaves later than the head. */
  readonly body: boolean
  /** The holder that it names; 0: none. */
  readonly holder: number
  /** An announcement: raises and hands over, sends nothing. */
  readonly announces: boolean
}

/** The promises and rules that a step can break; DESIGN section 1 has P1 to P5. */
export const PROPERTIES = [
  'P1 order',
  'P2 no overlap',
  'P3 durable first',
  'P4 at most once',
  'P5 honest',
  'frozen',
  'one holder',
  'recorded before release',
  'possession',
  'progress',
] as const

export type Property = (typeof PROPERTIES)[number]

/** A bound on what can happen. */
export interface Scope {
  readonly name: string
  readonly writes: readonly WriteSpec[]
  /** How often the process dies; 3 at most, like all of these. */
  readonly crashes: number
  readonly cleanStops: number
  /** How many operations of the task fail. */
  readonly failures: number
  /** How many acts operators make, apart from resolving. */
  readonly acts: number
}
