/**
 * Every way in which fencegate says no: one table of refusals, and the errors that end the process.
 *
 * The gate and the claim parser name a code; `proxy/rejection.ts` is the one renderer that turns it into HTTP.
 */

interface RefusalKind {
  readonly status: number
  readonly title: string
  /** `unknown`: bytes of the write, or of an earlier attempt of its operation, may have reached the resource. */
  readonly sent: 'no' | 'unknown'
  /**
   * `never`: this request cannot succeed; `after`: the same request may, later; `same-operation`: only
   * repeat it if the operation is safe to repeat.
   */
  readonly retry: 'never' | 'after' | 'same-operation'
  /** The proxy error type of RFC 9209, section 2.3. */
  readonly proxyError: string
}

/** The refusals, by their stable code. */
export const REFUSALS = {
  'malformed-request': {
    status: 400,
    title: 'The request is not valid HTTP/1.1',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'malformed-token': {
    status: 400,
    title: 'The fencing token is malformed',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'malformed-task': {
    status: 400,
    title: 'The task name is malformed',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'operation-required': {
    status: 400,
    title: 'An operation key is required',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'malformed-operation': {
    status: 400,
    title: 'The operation key is malformed',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'ambiguous-target': {
    status: 400,
    title: 'The request target can be read in two ways',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'token-jump': {
    status: 403,
    title: 'The fencing token is too far above the mark',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'task-not-allowed': {
    status: 403,
    title: "The client's certificate does not allow this task",
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'unsupported-upgrade': {
    status: 403,
    title: 'The upgrade is not allowed here',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_upgrade_failed',
  },
  'not-found': {
    status: 404,
    title: 'No such resource of the sidecar',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'head-timeout': {
    status: 408,
    title: 'The request head did not arrive in time',
    sent: 'no',
    retry: 'after',
    proxyError: 'http_request_error',
  },
  'token-conflict': {
    status: 409,
    title: 'Another holder has used this fencing token',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'operation-in-progress': {
    status: 409,
    title: 'An attempt of the operation is open',
    sent: 'unknown',
    retry: 'after',
    proxyError: 'http_request_denied',
  },
  'operation-unknown': {
    status: 409,
    title: 'The outcome of the operation is unknown',
    sent: 'unknown',
    retry: 'after',
    proxyError: 'http_request_denied',
  },
  'operation-done': {
    status: 409,
    title: 'The operation is done, and its answer was not kept',
    sent: 'unknown',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'operation-expired': {
    status: 409,
    title: 'The key of the operation has expired',
    sent: 'unknown',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'body-timeout': {
    status: 408,
    title: 'The request body did not come in time',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'stale-token': {
    status: 412,
    title: 'A higher fencing token is on record',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'body-too-large': {
    status: 413,
    title: 'The request body is too large',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'unsupported-expectation': {
    status: 417,
    title: 'The expectation is not supported',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'operation-mismatch': {
    status: 422,
    title: 'The operation key belongs to another request',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'task-frozen': {
    status: 423,
    title: 'The task is frozen',
    sent: 'no',
    retry: 'after',
    proxyError: 'http_request_denied',
  },
  'token-required': {
    status: 428,
    title: 'A fencing token is required',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_denied',
  },
  'head-too-large': {
    status: 431,
    title: 'The request head is too large',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'internal-error': {
    status: 500,
    title: 'The sidecar failed',
    sent: 'no',
    retry: 'after',
    proxyError: 'proxy_internal_error',
  },
  'unsupported-method': {
    status: 501,
    title: 'The method is not known',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'unsupported-trailer': {
    status: 501,
    title: 'Request trailers are not supported',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'unsupported-coding': {
    status: 501,
    title: 'The transfer coding is not supported',
    sent: 'no',
    retry: 'never',
    proxyError: 'http_request_error',
  },
  'upstream-unreachable': {
    status: 502,
    title: 'The resource could not be reached',
    sent: 'no',
    retry: 'after',
    proxyError: 'destination_unavailable',
  },
  'outcome-unknown': {
    status: 502,
    title: 'The outcome of the request is unknown',
    sent: 'unknown',
    retry: 'same-operation',
    proxyError: 'connection_terminated',
  },
  superseded: {
    status: 502,
    title: 'The write was cut off by a handover',
    sent: 'unknown',
    retry: 'never',
    proxyError: 'connection_terminated',
  },
  'handover-pending': {
    status: 503,
    title: 'A lower write is still open',
    sent: 'no',
    retry: 'after',
    proxyError: 'http_request_denied',
  },
  'handover-held': {
    status: 503,
    title: 'The outcome of a lower write is unresolved',
    sent: 'no',
    retry: 'after',
    proxyError: 'http_request_denied',
  },
  'store-unavailable': {
    status: 503,
    title: 'The mark cannot be read or written',
    sent: 'no',
    retry: 'after',
    proxyError: 'proxy_internal_error',
  },
  overloaded: {
    status: 503,
    title: 'A limit of the sidecar is reached',
    sent: 'no',
    retry: 'after',
    proxyError: 'connection_limit_reached',
  },
} as const satisfies Record<string, RefusalKind>

export type RefusalCode = keyof typeof REFUSALS

/** One refusal: the code, why and what to do, and the facts that the client is told. */
export interface Refusal {
  readonly code: RefusalCode
  /** Cause and remedy, for a person. Never holds header values other than the claim's. */
  readonly detail: string
  readonly task?: string
  readonly token?: bigint
  /** The highest token on record, where it was known. */
  readonly highest?: bigint
  /** What is on record of the request's operation. */
  readonly operation?: { readonly state: string; readonly status: number | undefined }
  /** Ids of the unresolved writes that keep this one out. */
  readonly held?: readonly string[]
  /** Seconds, at least 1; only where `retry` is `after`. */
  readonly retryAfterSeconds?: number
  /** Instead of the table's status: 504 where an unknown outcome is a time-out. */
  readonly status?: 504
}

/** Exit codes of the process (stable). */
export const EXIT = { ok: 0, usage: 64, unavailable: 69, invariant: 70 } as const

/** Ends a command: the message goes to the person at the terminal, the code to the shell. */
export class ExitError extends Error {
  override readonly name = 'ExitError'
  readonly exitCode: number

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** A promise of this program to itself was broken; nothing that it says afterwards can be trusted. */
export class InvariantError extends ExitError {
  constructor(message: string) {
    super(EXIT.invariant, `broken invariant: ${message}`)
  }
}
