/**
 * The journal as it grows. Where the stream breaks off (the sidecar restarts, this reader was too slow) it goes on behind
 * the last entry that was read, so that none is missed and none comes twice.
 */
import type { IncomingMessage } from 'node:http'
import { EXIT, ExitError } from '../errors.ts'
import { answerOf, askAt } from './ask.ts'
import type { Endpoint } from './endpoint.ts'
import { EventReader } from './event-stream.ts'
import { requestTo, unreachable } from './exchange.ts'
import { pause } from './interrupt.ts'

/** Three of the comments with which an idle stream shows that it lives. */
const SILENCE_MS = 45_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 5_000

export interface Following {
  /** Filters; those that are undefined are left out. */
  readonly filters: Readonly<Record<string, string | undefined>>
  /** `seq` of the entry behind which it begins. */
  readonly after: number
  readonly signal: AbortSignal
  /** Told once for each time that the stream is lost, and found again. */
  readonly notice: (text: string) => void
}

/** Ends when the signal says so. Throws {@link ExitError} where it can't begin, or may not go on. */
export async function* follow<E extends { readonly seq: number }>(
  endpoint: Endpoint,
  { filters, after, signal, notice }: Following,
): AsyncGenerator<readonly E[]> {
  let last = after
  let begun = false
  let isLost = false
  let retryMs = FIRST_RETRY_MS
  while (!signal.aborted) {
    try {
      if (isLost) last = await lastIn(endpoint, last, notice)
      for await (const entries of stream<E>(endpoint, targetOf(filters, last), signal)) {
        if (isLost) notice('It answers again.')
        begun = true
        isLost = false
        retryMs = FIRST_RETRY_MS
        last = entries.at(-1)?.seq ?? last
        if (entries.length > 0) yield entries
      }
    } catch (error) {
      if (signal.aborted) return
      if (!begun || !(error instanceof ExitError) || error.exitCode !== EXIT.unavailable) throw error
    }
    if (signal.aborted) return
    if (!isLost) notice(`The sidecar at ${endpoint.name} has ended the stream: asking it again.`)
    isLost = true
    await pause(retryMs, signal)
    retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
  }
}

/** Behind the end of a journal that was rolled back, nothing would come for long. */
async function lastIn(endpoint: Endpoint, last: number, notice: Following['notice']): Promise<number> {
  const { journal } = await askAt<{ journal: { seq: number }[] }>(
    endpoint,
    '/v1/journal?order=newest&limit=1',
  )
  const end = journal[0]?.seq ?? 0
  if (end >= last) return last
  notice(
    'Its journal ends before the last entry that came, as that of a restored store does: going on from its end.',
  )
  return end
}

function targetOf(filters: Following['filters'], after: number): string {
  const query = new URLSearchParams({ after: String(after) })
  for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(name, value)
  return `/v1/journal/stream?${query}`
}

/** One connection: an empty list once it is open, then the entries as they come. */
async function* stream<E>(endpoint: Endpoint, target: string, signal: AbortSignal): AsyncGenerator<E[]> {
  const request = requestTo(endpoint, 'GET', target, { Accept: 'text/event-stream' })
  const stop = () => request.destroy()
  signal.addEventListener('abort', stop)
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.setTimeout(SILENCE_MS, () => request.destroy(new Error('silent')))
      request.on('error', reject).on('response', resolve)
      request.on('close', () => reject(new Error('closed'))).end()
    })
    response.setEncoding('utf8')
    await expectStream(endpoint, response)
    yield []
    const events = new EventReader()
    for await (const text of response) {
      yield events.read(text).map(({ data }) => JSON.parse(data) as E)
    }
  } catch (error) {
    throw error instanceof ExitError ? error : unreachable(endpoint, error as Error)
  } finally {
    signal.removeEventListener('abort', stop)
    request.on('error', () => {}).destroy()
  }
}

async function expectStream(endpoint: Endpoint, response: IncomingMessage): Promise<void> {
  const { statusCode: status = 0, headers } = response
  if (status === 200 && headers['content-type']?.startsWith('text/event-stream')) return
  const text = (await response.toArray()).join('')
  answerOf(endpoint, { status, headers, text })
  throw new ExitError(EXIT.unavailable, `what came from ${endpoint.name} is no stream of events`)
}
