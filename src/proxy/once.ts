/**
 * An attempt of an operation (`guard: once`): gate -> record -> body -> fingerprint -> intent -> send -> answer on
 * record -> client. Whatever is known of the operation is answered from the record, and nothing is sent.
 */
import type { OnceRule, Route } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import { Admission, Attempt, NOT_SENT } from '../gate/admission.ts'
import type { Gate } from '../gate/gate.ts'
import type { Permit } from '../gate/permit.ts'
import { type AttemptRecord, derivedKey, fingerprintOf } from '../journal/operations.ts'
import type { WriteFacts } from '../journal/records.ts'
import type { Sealing } from '../journal/sealing.ts'
import { type Claim, NO_TOKEN } from '../token.ts'
import type { Exchange } from './exchange.ts'
import type { AnswerRule } from './held-answer.ts'
import { keptAnswer } from './kept-answer.ts'
import { bodyTooLarge, mismatch, whyNotAgain } from './once-refusals.ts'
import { replay } from './replay.ts'
import { readBody } from './request-body.ts'
import { notSent } from './send-failures.ts'
import { BodyError, TooLargeError, type UploadLimits } from './upload.ts'

export interface OnceRequest {
  readonly exchange: Exchange
  readonly route: Route
  readonly rule: OnceRule
  readonly claim: Claim
  readonly key: string
  readonly facts: WriteFacts
  readonly writeRule: Admission['rule']
  readonly limits: UploadLimits
  readonly storeTimeoutMs: number
  /** Encrypts what is kept of answers; undefined: it is kept as it is. */
  readonly sealing: Sealing | undefined
  /** Sends it; called at most once. */
  readonly send: (permit: Permit, ready: ReadyAttempt) => void
}

/** What is sent, and what becomes of its answer. */
export interface ReadyAttempt {
  readonly body: Buffer
  /** What the provider is told instead of the client's key, if anything. */
  readonly providerKey: string | undefined
  readonly answerRule: AnswerRule
}

export async function attemptOnce(gate: Gate, request: OnceRequest): Promise<void> {
  const { exchange, route, rule, claim, key, facts, writeRule } = request
  const { req, res } = exchange
  const length = Number(req.headers['content-length'] ?? 0)
  if (length > rule.maxBodyBytes) return exchange.refuse(bodyTooLarge(claim, route, rule))
  const attempt = new Attempt({ scope: rule.scope, task: claim.task, key })
  const admission = new Admission(claim, writeRule, facts, attempt)
  const permit = await gate.admit(admission)
  if ('code' in permit) return exchange.refuse(permit)
  const { found } = attempt
  const refuse = (refusal: Refusal) => {
    permit.release(NOT_SENT)
    exchange.refuse(refusal)
  }
  const closed = found && whyNotAgain(found, rule, claim)
  if (closed) return refuse(closed)
  const body = await bodyOf(request, permit)
  if (!Buffer.isBuffer(body)) {
    permit.release(NOT_SENT)
    if (body) exchange.refuse(body)
    return
  }
  const fingerprint = fingerprintOf(exchange.method, req.url as string, body)
  if (found && found.fingerprint !== fingerprint) return refuse(mismatch(claim))
  if (found?.state === 'done') {
    permit.release(NOT_SENT)
    const refusal = replay(req, res, found, claim, request.sealing)
    return refusal ? exchange.refuse(refusal) : exchange.replayed()
  }
  const record = attemptRecord(request, admission, attempt, fingerprint)
  const late = await gate.attempts.intend(admission, record)
  if (late) return refuse(late)
  const { providerKey } = record.operation
  request.send(permit, {
    body,
    providerKey: providerKey === facts.operation ? undefined : providerKey,
    answerRule: answerRule(gate, request, admission),
  })
}

/** The whole body; or what the client is to be told, if it is there. */
async function bodyOf(request: OnceRequest, permit: Permit): Promise<Buffer | Refusal | undefined> {
  const { exchange, route, rule, limits, claim } = request
  let interruption: Refusal | undefined
  const unwanted = (stop: () => void) =>
    permit.onInterrupt((refusal) => {
      interruption = refusal
      stop()
    })
  const bodySize = Math.min(limits.bodySize, rule.maxBodyBytes)
  try {
    return await readBody(exchange.req, exchange.res, { ...limits, bodySize }, unwanted)
  } catch (error) {
    if (error instanceof TooLargeError && bodySize < limits.bodySize) return bodyTooLarge(claim, route, rule)
    return error instanceof BodyError ? notSent(claim, error, '') : interruption
  }
}

function attemptRecord(
  { exchange, route, rule, claim, key, facts }: OnceRequest,
  admission: Admission,
  { name, id, found }: Attempt,
  fingerprint: string,
): AttemptRecord {
  const atMs = Date.now()
  // As the client wrote it: to a provider that doesn't read the quotes away, the bare key is another one.
  const own = rule.providerKey === 'derive' ? derivedKey(id) : (facts.operation ?? key)
  const providerKey = found?.providerKey ?? own
  return {
    id: admission.id,
    operation: { ...name, id, fingerprint, providerKey, firstAtMs: found?.firstAtMs ?? atMs },
    token: claim.token === NO_TOKEN ? undefined : claim.token,
    holder: claim.holder,
    route: route.name,
    method: exchange.method,
    target: admission.facts.target,
    atMs,
    keepMs: rule.retentionMs,
    keyLifetimeMs: rule.keyLifetimeMs,
  }
}

function answerRule(
  gate: Gate,
  { rule, route, exchange, claim, storeTimeoutMs, sealing }: OnceRequest,
  admission: Admission,
): AnswerRule {
  const unsure = admission.attempt?.found?.everUnknown ?? false
  const id = admission.attempt?.id as string
  const seal = sealing && ((body: Uint8Array) => sealing.seal(body, id))
  // What doesn't tell the outcome has nothing to be put on record before the exchange is over.
  const tells = (status: number) => !route.unknownStatuses.includes(status)
  return {
    keepBody: rule.keepBodyBytes,
    // After an unknown attempt a refusal may be that of the repeat, and not of the effect.
    isFinal: (status) =>
      tells(status) && ((status >= 200 && status < 300) || (!unsure && rule.finalStatuses.includes(status))),
    keep: (status, headers, body) => keptAnswer(rule, status, headers, body, seal),
    recordEarly: async (answer) => {
      if (tells(answer.status)) await gate.attempts.recordAnswer(admission, answer)
    },
    timeoutMs: storeTimeoutMs,
    late: () =>
      exchange.refuse({
        ...claim,
        code: 'outcome-unknown',
        detail:
          'The resource answered, and its answer could not be put on record in time. Repeat the request with the ' +
          'same key to learn it.',
      }),
  }
}
