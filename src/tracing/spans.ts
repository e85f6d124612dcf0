/** What is told of a request to whoever records spans. Never a task, a token, a header or a query: spans leave the host. */
import type { Traceparent } from './traceparent.ts'

export interface RequestFacts {
  readonly parent: Traceparent | undefined
  /** From the head to the end of the answer, or of the exchange with the resource, whichever came later: now. */
  readonly durationMs: number
  readonly route: string
  readonly method: string
  /** That of the answer; undefined if its head wasn't sent. */
  readonly status: number | undefined
  /** As in the metrics; undefined for what needs none. */
  readonly decision: string | undefined
  /** Of a fenced write that had a permit. */
  readonly outcome: string | undefined
}

export interface Spans {
  /** A request has ended. Returns at once, and never throws. */
  record(request: RequestFacts): void
  /** Sends what was recorded, for at most so many milliseconds. */
  close(timeoutMs: number): Promise<void>
}
