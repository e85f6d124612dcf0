/**
 * Reads a request's `traceparent` (W3C Trace Context, version 00). It is passed on as it came, whatever it is; what
 * is read here only says to which trace an exemplar or a span belongs, so one that isn't valid is as good as none.
 */

export interface Traceparent {
  /** 32 hexadecimal digits in lower case, not all of them 0. */
  readonly traceId: string
  /** 16 of them: the span of the client that sent the request. */
  readonly spanId: string
  /** Whether the client records its part of the trace. */
  readonly sampled: boolean
}

const TRACEPARENT = /^00-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})$/

export function readTraceparent(field: string | string[] | undefined): Traceparent | undefined {
  // Two fields reach this as one value that is longer.
  if (typeof field !== 'string' || field.length !== 55) return undefined
  const [, traceId, spanId, flags] = TRACEPARENT.exec(field) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags as string, 16) & 1) === 1 }
}
