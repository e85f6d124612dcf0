/**
 * Reads the claim of a request that needs a permit.
 *
 * Invariant: a claim is given only if every reader of these headers finds the same one. What `claim-field.ts` says of
 * each field holds; and joined values are refused, because a reader may pick another one of them.
 */
import type { ClaimConfig } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { type Claim, isTask, NO_TOKEN, parseToken, type Token } from '../token.ts'
import { type Fault, readField } from './claim-field.ts'
import { excerpt } from './excerpt.ts'
import type { RequestHead, RouteMatched } from './route-match.ts'

type ClaimFields = Pick<ClaimConfig, 'taskHeader' | 'tokenHeader' | 'holderHeader' | 'maxToken'>

export function readClaim(
  { rawHeaders }: RequestHead,
  matched: Pick<RouteMatched, 'task'>,
  config: ClaimFields,
  tokenNeeded: 'required' | 'optional' = 'required',
): { claim: Claim } | { refusal: Refusal } {
  const token = readToken(rawHeaders, config)
  const task = readTask(rawHeaders, matched.task, config)
  const holder = readHolder(rawHeaders, config)
  if (typeof token === 'bigint' && typeof task === 'string' && !isFault(holder)) {
    return { claim: { task, token, ...(holder !== undefined && { holder }) } }
  }
  if (token === undefined && tokenNeeded === 'optional' && typeof task === 'string' && !isFault(holder)) {
    return { claim: { task, token: NO_TOKEN } }
  }
  const refuse = (code: Refusal['code'], cause: string) => ({
    refusal: {
      code,
      detail: `${cause} Nothing was sent.`,
      ...(typeof task === 'string' && { task }),
      ...(typeof token === 'bigint' && { token }),
    },
  })
  if (isFault(token)) return refuse('malformed-token', token.fault)
  if (isFault(holder)) return refuse('malformed-token', holder.fault)
  if (isFault(task)) return refuse('malformed-task', task.fault)
  const missing = token === undefined ? config.tokenHeader : config.taskHeader
  return refuse(
    'token-required',
    `This request needs a claim, and the ${missing} header is missing. Acquire the lease of the task and ` +
      'send its fencing token with each write.',
  )
}

function readToken(rawHeaders: readonly string[], config: ClaimFields): Token | Fault | undefined {
  const text = readValue(rawHeaders, config.tokenHeader)
  if (text === undefined || isFault(text)) return text
  const token = parseToken(text)
  if (token === undefined) {
    return {
      fault:
        `The ${config.tokenHeader} header is ${excerpt(text)}. Send a decimal integer from 1 to ` +
        `${config.maxToken}, without sign or leading zeros.`,
    }
  }
  if (token > config.maxToken) {
    return {
      fault:
        `The ${config.tokenHeader} header is ${token}, above the configured maxToken ${config.maxToken}. ` +
        'Check where the token comes from; if it is right, raise maxToken.',
    }
  }
  return token
}

function readHolder(
  rawHeaders: readonly string[],
  { holderHeader }: ClaimFields,
): string | Fault | undefined {
  const text = readValue(rawHeaders, holderHeader)
  // A holder's name is spelt like a task's.
  if (typeof text !== 'string' || isTask(text)) return text
  return { fault: `The ${holderHeader} header is ${excerpt(text)}. Send 1 to 256 visible ASCII characters.` }
}

/** The task that the path or the header names; if both do, it must be the same. */
function readTask(
  rawHeaders: readonly string[],
  inPath: string | undefined,
  { taskHeader }: ClaimFields,
): string | Fault | undefined {
  const inHeader = readValue(rawHeaders, taskHeader)
  if (isFault(inHeader)) return inHeader
  if (inPath !== undefined && !isTask(inPath)) return notATask('path', inPath)
  if (inHeader !== undefined && !isTask(inHeader)) return notATask(`${taskHeader} header`, inHeader)
  if (inPath !== undefined && inHeader !== undefined && inPath !== inHeader) {
    return {
      fault:
        `The path names the task ${excerpt(inPath)} and the ${taskHeader} header ${excerpt(inHeader)}. ` +
        'Leave the header off, or send the same task in both.',
    }
  }
  return inPath ?? inHeader
}

function notATask(place: string, text: string): Fault {
  return {
    fault: `The ${place} names the task ${excerpt(text)}. Name it with 1 to 256 visible ASCII characters.`,
  }
}

/** The field's only value; `undefined` if it is not there. */
function readValue(rawHeaders: readonly string[], field: string): string | Fault | undefined {
  const value = readField(rawHeaders, field)
  if (typeof value !== 'string' || !value.includes(',')) return value
  return { fault: `The ${field} header holds a comma, as joined values do. Send one value.` }
}

function isFault(reading: Token | string | Fault | undefined): reading is Fault {
  return typeof reading === 'object'
}
