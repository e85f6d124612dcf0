/** Why a request to the admin API is not answered: a status, and a sentence with the field, its fault and the remedy. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly statusCode: number
  /** Seconds after which to ask again. */
  readonly retryAfter: number | undefined

  constructor(statusCode: number, message: string, retryAfter?: number) {
    super(message)
    this.statusCode = statusCode
    this.retryAfter = retryAfter
  }
}

/** What can't be answered now, but soon. */
export function unavailable(message: string): RequestError {
  return new RequestError(503, message, 1)
}
