/** The oracle must be able to fail: each rule, broken by a sidecar that is made up. */
import { describe, expect, it } from 'vitest'
import { readAnswers } from './answers.ts'
import { Judge, type Line, type Run } from './judge.ts'
import { rulingOn } from './rules.ts'
import { parseStream, type StrictRequest } from './strict.ts'
import type { Received } from './upstream.ts'

const HOST = '127.0.0.1:1'

interface Scene {
  /** What the client sent, and what it got. */
  readonly sent: string
  readonly got?: string
  /** What reached the resource, one string a connection. */
  readonly arrived?: readonly string[]
  readonly honest?: boolean
}

/** The rules that the scene breaks. */
function broken({ sent, got = '', arrived = [], honest = false }: Scene, judge = new Judge(HOST)): string[] {
  const stream = parseStream(Buffer.from(sent, 'latin1'))
  const conversation = {
    ...readAnswers(Buffer.from(got, 'latin1'), methodsOf(stream.requests), true),
    missed: undefined,
  }
  const line: Line = { stream, conversation, arrived: new Map() }
  const run: Run = { input: { connections: [], honest, notes: [] }, index: 0, name: 'one', lines: [line] }
  const received = arrived.map((text, i): Received => {
    const { requests, rest } = parseStream(Buffer.from(text, 'latin1'))
    const request = requests[0] ?? ('begun' in rest ? rest.begun : undefined)
    return { seq: i + 1, request: request as StrictRequest, answer: { status: 200, body: `answer ${i + 1}` } }
  })
  return judge.judge([run], [run], received).map(({ rule }) => rule)
}

const methodsOf = (requests: readonly StrictRequest[]) => requests.map(({ method }) => method)

const claim = (task: string, token: string | number) => `Fencing-Task: ${task}\r\nFencing-Token: ${token}\r\n`
const put = (fields = claim('k', 9), id = 'one.0.0') =>
  `PUT /x HTTP/1.1\r\nHost: a\r\nX-Fuzz-Id: ${id}\r\n${fields}X: 1\r\nContent-Length: 2\r\n\r\nab`
const there = (fields?: string, id?: string) => put(fields, id).replace('Host: a', `host: ${HOST}`)
const chunked = (body: string, head = put) =>
  head().replace('Content-Length: 2\r\n\r\nab', `Transfer-Encoding: chunked\r\n\r\n${body}`)
const answer = (seq: number, fields = '') =>
  `HTTP/1.1 200 OK\r\nX-Fuzz-Seq: ${seq}\r\n${fields}Content-Length: 8\r\n\r\nanswer ${seq}`
const refusal =
  'HTTP/1.1 412 No\r\nProxy-Status: fencegate; error=x; details="y"\r\nContent-Length: 13\r\n\r\n{"sent":"no"}\n'.slice(
    0,
    -1,
  )

const SEEN = 'exactly what the strict reader sees'
const MAY = 'only what may be forwarded'
const OWN = 'the answer to its own request'

describe('a sound sidecar', () => {
  it.each<[string, Scene]>([
    ['forwards', { sent: put(), arrived: [there()], got: answer(1), honest: true }],
    ['refuses', { sent: put(), got: refusal }],
    ['closes', { sent: put() }],
    [
      'refuses what is no request',
      { sent: `${put()}x\r\n\r\n`, arrived: [there()], got: answer(1) + refusal },
    ],
    [
      'cuts a body off',
      {
        sent: put(),
        arrived: [there().slice(0, -1)],
        got: refusal.replace('no', 'unknown').replace('13', '18'),
      },
    ],
    [
      'forwards the beginning of what is not whole',
      { sent: put().slice(0, -1), arrived: [there().slice(0, -1)] },
    ],
    [
      'drops what belongs to the connection',
      { sent: put(`${claim('k', 9)}Connection: y\r\nY: 1\r\nTE: x\r\n`), arrived: [there()], got: answer(1) },
    ],
  ])('%s', (_, scene) => {
    expect(broken(scene)).toEqual([])
  })
})

describe('caught', () => {
  it.each<[string, string, Scene]>([
    ['a request that nobody sent', SEEN, { sent: '', arrived: [there(undefined, 'two.0.0')] }],
    ['one that is sent twice', SEEN, { sent: put(), arrived: [there(), there()], got: answer(1) }],
    ['one behind what is no request', SEEN, { sent: `x\r\n\r\n${put()}`, arrived: [there()] }],
    ['one that is whole, and was not', SEEN, { sent: put().slice(0, -1), arrived: [there()] }],
    ['another target', SEEN, { sent: put(), arrived: [there().replace('/x', '/y')], got: answer(1) }],
    ['another method', SEEN, { sent: put(), arrived: [there().replace('PUT', 'POST')], got: answer(1) }],
    ['another Host', SEEN, { sent: put(), arrived: [put()], got: answer(1) }],
    ['another body', SEEN, { sent: put(), arrived: [`${there().slice(0, -2)}aB`], got: answer(1) }],
    [
      'a field that is lost',
      SEEN,
      { sent: put(), arrived: [there().replace('X: 1\r\n', '')], got: answer(1) },
    ],
    [
      'a field that is new',
      SEEN,
      { sent: put(), arrived: [there().replace('X: 1', 'X: 1\r\nY: 2')], got: answer(1) },
    ],
    [
      'a field in another case',
      SEEN,
      { sent: put(), arrived: [there().replace('X: 1', 'x: 1')], got: answer(1) },
    ],
    [
      'another framing',
      SEEN,
      {
        sent: put(),
        arrived: [
          there().replace(
            'Content-Length: 2\r\n\r\nab',
            'Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n',
          ),
        ],
        got: answer(1),
      },
    ],
    [
      'order',
      SEEN,
      { sent: put() + put(claim('k', 9), 'one.0.1'), arrived: [there(undefined, 'one.0.1'), there()] },
    ],
    [
      'one whose trailers are gone',
      MAY,
      { sent: chunked('0\r\nY: 1\r\n\r\n'), arrived: [chunked('0\r\n\r\n', there)], got: answer(1) },
    ],
    [
      'one whose Connection field is gone',
      MAY,
      {
        sent: put(`${claim('k', 9)}Connection: fencing-token\r\n`),
        arrived: [there('Fencing-Task: k\r\n')],
        got: answer(1),
      },
    ],
    ['a stale token', MAY, { sent: put(claim('k', 7)), arrived: [there(claim('k', 7))], got: answer(1) }],
    [
      'a token below the last',
      'tokens in order',
      {
        sent: put() + put(claim('k', 8), 'one.0.1'),
        arrived: [there(), there(claim('k', 8), 'one.0.1')],
        got: answer(1) + answer(2),
      },
    ],
    ['an answer to nothing', OWN, { sent: put(), got: answer(1) }],
    ['the answer to another', OWN, { sent: put(), arrived: [there()], got: answer(2) }],
    [
      'another answer',
      OWN,
      { sent: put(), arrived: [there()], got: answer(1).replace('answer 1', 'answer 9') },
    ],
    ['"not sent" of what was sent', OWN, { sent: put(), arrived: [there()], got: refusal }],
    ['two answers', 'one answer a request', { sent: put(), got: refusal + refusal }],
    [
      'an interim answer behind the last',
      'one answer a request',
      { sent: put(), got: `${refusal}HTTP/1.1 103 x\r\n\r\n` },
    ],
    [
      'one behind the one that closes',
      'answers are well-formed',
      {
        sent: put() + put(claim('k', 9), 'one.0.1'),
        arrived: [there(), there(undefined, 'one.0.1')],
        got: answer(1, 'Connection: close\r\n') + answer(2),
      },
    ],
    [
      'bytes that are no answer',
      'answers are well-formed',
      { sent: put(), arrived: [there()], got: `${answer(1)}x\r\n` },
    ],
    [
      'an honest request that is refused',
      'honest requests are forwarded',
      { sent: put(), got: refusal, honest: true },
    ],
    [
      'an honest request without an answer',
      'honest requests are forwarded',
      { sent: put(), arrived: [there()], honest: true },
    ],
  ])('%s', (_, rule, scene) => {
    expect(broken(scene)[0]).toBe(rule)
  })

  it('a token below that of another run', () => {
    const judge = new Judge(HOST)
    expect(broken({ sent: put(), arrived: [there()], got: answer(1) }, judge)).toEqual([])
    const lower = { sent: put(claim('k', 8)), arrived: [there(claim('k', 8))], got: answer(1) }
    expect(broken(lower, judge)).toEqual(['tokens in order'])
  })
})

describe('may never be forwarded', () => {
  const rulings = (text: string) => parseStream(Buffer.from(text, 'latin1')).requests.map(rulingOn)
  const request = (line: string, fields = claim('k', 9)) => `${line} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`

  it.each([
    ...[
      'PUT *',
      'GET http://a/',
      'PUT /x#y',
      'CONNECT /',
      'POST /.well-known/fencegate/announce',
      'put /x?',
    ].map((line) => [line, line.startsWith('put') ? '' : claim('k', 9)]),
    ...[
      'GET /open/../x',
      'PUT /open/%2e%2e/x',
      'PUT /%6fpen/x',
      'PUT //open/x',
      'PUT /settlements/a%2Fb/x',
      'PUT /settlements/a;b/x',
    ].map((line) => [line, claim('k', 9)]),
    ['PUT /settlements/j/x', claim('k', 9)],
    ...['', '7', '0', '09', '+9', '9.0', '9, 9', '9223372036854775808', '9\tx'].map((token) => [
      'PUT /x',
      claim('k', token),
    ]),
    ['PUT /x', 'Fencing-Token: 9\r\n'],
    ['PUT /x', 'Fencing-Task: k\r\n'],
    ...[
      'Fencing-Token: 9',
      'FENCING_TOKEN: 9',
      'fencing-task: k',
      'Fencing-Holder: a\r\nFencing-Holder: a',
      'Fencing-Holder: a,b',
    ].map((twin) => ['PUT /x', `${claim('k', 9)}${twin}\r\n`]),
    ['PUT /x', `${claim('k', 9)}Connection: x, fencing_token\r\n`],
    ['PUT /x', `${claim('k', 9)}Trailer: x\r\n`],
    ['PUT /x', `${claim('k', 9)}Expect: 200-ok\r\n`],
    ['GET /x', 'X-HTTP-Method-Override: PUT\r\n'],
    ['PUT /x', `${claim('k', 9)}Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n`],
  ])('%s with %j', (line = '', fields) => {
    expect(rulings(request(line, fields))).toEqual([{ may: 'never', why: expect.any(String) }])
  })

  it.each([
    ['GET /x', '', { may: 'pass' }],
    ['OPTIONS /settlements/j/x', 'X-Method-Override: get\r\n', { may: 'pass' }],
    ['PUT /open/x', '', { may: 'pass' }],
    ['PUT /a%2Fb//..', claim('k', 8), { may: 'write', task: 'k', token: 8n }],
    [
      'PUT /settlements/j/x',
      'Fencing-Token: 9007199254740993\r\n',
      { may: 'write', task: 'j', token: 9007199254740993n },
    ],
    ['get /x', claim('k', '9223372036854775807'), { may: 'write', task: 'k', token: 2n ** 63n - 1n }],
  ])('but %s with %j may', (line, fields, ruling) => {
    expect(rulings(request(line, fields))).toEqual([ruling])
  })
})
