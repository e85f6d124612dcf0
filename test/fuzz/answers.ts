/** What a client makes of the bytes that it gets: answers, read as strictly as requests. */
import {
  Cursor,
  type Field,
  Incomplete,
  Invalid,
  membersOf,
  readChunked,
  readExactly,
  readFields,
  valuesOf,
} from './grammar.ts'

export interface ClientAnswer {
  readonly status: number
  readonly fields: readonly Field[]
  readonly body: string
  /** Whether its end has come. */
  readonly whole: boolean
  /** How many 1xx answers stand before it. */
  readonly interim: number
}

export interface Answers {
  /** Final ones, in order; only the last can be cut. */
  readonly answers: readonly ClientAnswer[]
  /** 1xx answers behind the last final one. */
  readonly interim: number
  /** Why the bytes are no answers. */
  readonly fault: string | undefined
}

/**
 * Reads all that came.
 *
 * @param methods of the requests, in order: an answer to HEAD has no body.
 * @param ended whether the peer has ended the connection in an orderly way: it can be the end of a body.
 */
export function readAnswers(bytes: Buffer, methods: readonly string[], ended: boolean): Answers {
  const cursor = new Cursor(bytes)
  const answers: ClientAnswer[] = []
  let interim = 0
  try {
    while (!cursor.atEnd) {
      const answer = readAnswer(cursor, methods[answers.length], interim, ended)
      if (answer.status >= 200) answers.push(answer)
      interim = answer.status >= 200 ? 0 : interim + 1
      if (!answer.whole) break
    }
    return { answers, interim, fault: undefined }
  } catch (error) {
    if (error instanceof Incomplete) return { answers, interim, fault: undefined }
    if (error instanceof Invalid) return { answers, interim, fault: `${error.message} in an answer` }
    throw error
  }
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t -~\x80-\xff]*$/

function readAnswer(
  cursor: Cursor,
  method: string | undefined,
  interim: number,
  ended: boolean,
): ClientAnswer {
  const { at } = cursor
  const status = Number(STATUS_LINE.exec(cursor.line())?.[1])
  if (Number.isNaN(status)) throw new Invalid(at, 'a status line that is none')
  const fields = readFields(cursor)
  const data: Buffer[] = []
  const answer = (whole: boolean) => ({
    status,
    fields,
    body: Buffer.concat(data).toString('latin1'),
    whole,
    interim,
  })
  const bodiless = method === 'HEAD' || status < 200 || status === 204 || status === 304
  try {
    const untilClose = !bodiless && readBody(cursor, fields, data, at)
    return answer(!untilClose || ended)
  } catch (error) {
    if (error instanceof Incomplete) return answer(false)
    throw error
  }
}

/** True if the body goes on until the connection ends. */
function readBody(cursor: Cursor, fields: readonly Field[], data: Buffer[], at: number): boolean {
  const lengths = valuesOf(fields, 'content-length')
  const codings = valuesOf(fields, 'transfer-encoding')
  if (lengths.length + codings.length > 1) throw new Invalid(at, 'more than one field delimits the body')
  if (codings[0] !== undefined && codings[0] !== 'chunked')
    throw new Invalid(at, 'an unknown transfer coding')
  if (codings.length > 0) readChunked(cursor, data)
  else if (lengths[0] === undefined) {
    data.push(cursor.take(Number.POSITIVE_INFINITY))
    return true
  } else if (!/^\d+$/.test(lengths[0])) throw new Invalid(at, 'a Content-Length that is none')
  else readExactly(cursor, BigInt(lengths[0]), data)
  return false
}

/** Whether the peer says that it is the last one. */
export function isLast({ fields }: ClientAnswer): boolean {
  return membersOf(fields, 'connection').includes('close')
}
