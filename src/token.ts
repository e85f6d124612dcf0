/**
 * Tokens and claims: the two values that every decision is about.
 *
 * A token is compared exactly, so it is a bigint from the first byte to the last: a float would round
 * 9007199254740993 down and let a stale holder pass.
 */

/** A fencing token: an integer from 1 to {@link MAX_TOKEN}. Higher means granted later. */
export type Token = bigint

/** The largest token: 2^63 - 1, what a signed 64-bit column holds. */
export const MAX_TOKEN: Token = 9223372036854775807n

/** What a request says of itself. */
export interface Claim {
  /** What the lease is on: 1 to 256 visible ASCII characters. */
  readonly task: string
  readonly token: Token
  /** Who holds the token, if the request says so: two holders of one token can be told apart by it. */
  readonly holder?: string
}

/** Stands for the token of a write that was admitted without one: lower than every other, and never sent by a client. */
export const NO_TOKEN: Token = 0n

const CANONICAL = /^[1-9][0-9]{0,18}$/

/**
 * Reads a token in its only accepted spelling: decimal digits, no sign, no leading zero, no exponent.
 *
 * @returns the token, or `undefined` if the text is not one or is out of range.
 */
export function parseToken(text: string): Token | undefined {
  if (!CANONICAL.test(text)) return undefined
  const token = BigInt(text)
  return token <= MAX_TOKEN ? token : undefined
}

const TASK = /^[\x21-\x7e]{1,256}$/

/** Whether the text can name a task: 1 to 256 visible ASCII characters. */
export function isTask(text: string): boolean {
  return TASK.test(text)
}
