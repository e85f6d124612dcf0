/** Answers from the record: what an operation was answered with, once more, with nothing sent. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Refusal } from '../errors.ts'
import type { OperationRecord, RecordedAnswer } from '../journal/operations.ts'
import type { Sealing } from '../journal/sealing.ts'
import type { Claim } from '../token.ts'
import { answerEarly } from './rejection.ts'

/** Sends the recorded answer, or returns why there is none to send. */
export function replay(
  req: IncomingMessage,
  res: ServerResponse,
  { id, answer }: OperationRecord,
  claim: Claim,
  sealing: Sealing | undefined,
): Refusal | undefined {
  const body = answer?.bodyKept === 'encrypted' && answer.body ? sealing?.open(answer.body, id) : answer?.body
  if (!answer || body === undefined || typeof body === 'string') return operationDone(claim, answer)
  const headers = [...answer.headers, 'Idempotent-Replayed', 'true']
  // A body that is there has a length; where there can be none, its length would say something else (RFC 9110, section 8.6).
  const bodiless = answer.status === 204 || answer.status === 304 || req.method === 'HEAD'
  if (!bodiless) headers.push('Content-Length', String(body.byteLength))
  res.sendDate = false
  answerEarly(req, res, { status: answer.status, headers, body })
  return undefined
}

function operationDone(claim: Claim, answer: RecordedAnswer | undefined): Refusal {
  const status = answer?.status
  const how = status === undefined ? 'an operator has found that out' : `it was answered with ${status}`
  return {
    ...claim,
    code: 'operation-done',
    operation: { state: 'done', status },
    detail: `This operation has been applied: ${how}. Its answer is not at hand, and nothing was sent. Look at the resource.`,
  }
}
