/** What `request/` says when it says no: cause and remedy, in one place. */
import type { Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { excerpt } from './excerpt.ts'

export const NOT_ORIGIN_FORM: Refusal = {
  code: 'ambiguous-target',
  detail:
    'The request target must be a path that starts with "/" and holds no "#"; nothing was sent. Send the ' +
    'path alone: no scheme, host or "*".',
}

export const TOO_MANY_READINGS: Refusal = {
  code: 'ambiguous-target',
  detail:
    'The path can be decoded and normalised in more ways than are looked at; nothing was sent. Send it in ' +
    'its plain form, with each character escaped at most once.',
}

export const TOO_MANY_METHODS: Refusal = {
  code: 'ambiguous-target',
  detail:
    'Method-override headers name too many methods; nothing was sent. Send the method itself, without an ' +
    'override.',
}

export const OTHER_TARGET_UNREADABLE: Refusal = {
  code: 'ambiguous-target',
  detail:
    'A Destination, X-Original-URL or X-Rewrite-URL header is neither a URL nor an absolute path; nothing was sent. ' +
    'Send one that is, or leave it off.',
}

/** What a request is, in one reading: its route and the task that its path names. */
export interface Reading {
  readonly route: Route
  readonly task: string | undefined
}

export function ambiguousPath(own: Reading, other: Reading): Refusal {
  return {
    code: 'ambiguous-target',
    detail:
      `As received the path is ${described(own)}, but once decoded or normalised it is ${described(other)}; ` +
      'nothing was sent. Send it in its plain form: no escapes, dot segments, doubled slashes or ' +
      'backslashes where they decide the route or the task.',
  }
}

export function ambiguousMethod(own: Reading, other: Reading, cause: string): Refusal {
  return {
    code: 'ambiguous-target',
    detail:
      `As received the request is ${described(own)}, but ${cause} may make it ${described(other)}; nothing ` +
      'was sent. Send the method itself on the request line, in upper case and without an override.',
  }
}

export function foreignTarget(own: Reading, other: Reading): Refusal {
  return {
    code: 'ambiguous-target',
    detail:
      `The request is ${described(own)}, but its Destination, X-Original-URL or X-Rewrite-URL is ` +
      `${described(other)}; nothing was sent. One token covers one task: stay within it.`,
  }
}

function described({ route, task }: Reading): string {
  return `route ${excerpt(route.name)}${task === undefined ? '' : ` with task ${excerpt(task)}`}`
}
