/** What requests to the control port name: tasks, tokens and numbers, read strictly. */
import { ActError } from '../gate/operator.ts'
import { isTask, MAX_TOKEN, parseToken, type Token } from '../token.ts'

export function taskOf(text: string): string {
  if (isTask(text)) return text
  throw new ActError('the task must be 1 to 256 visible ASCII characters')
}

export function tokenOf(text: string): Token {
  const token = parseToken(text)
  if (token !== undefined) return token
  throw new ActError(`the token must be a decimal integer from 1 to ${MAX_TOKEN}`)
}

/** @param name what the number is, for the message. */
export function integerOf(name: string, text: string, least: number, most: number): number {
  const number = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Infinity
  if (number >= least && number <= most) return number
  throw new ActError(`the ${name} must be an integer from ${least} to ${most}`)
}
