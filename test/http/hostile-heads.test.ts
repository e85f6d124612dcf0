/** Bad input: heads that are not HTTP/1.1, too large, or too slow get one clear answer and go nowhere. */
import { expect, test } from 'vitest'
import { RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, sidecar, send } = await scene({ limits: { headSize: '8KiB', headTimeout: '500ms' } })
const CLAIM = 'Fencing-Task: K\r\nFencing-Token: 9\r\n'

/** The answer to these bytes; the connection must end after it. */
async function answerTo(bytes: string, ms?: number) {
  const before = upstream.bytesReceived
  const client = await RawClient.connect(sidecar.port)
  await client.send(bytes)
  const answer = await client.answer('PUT', ms)
  expect(answer.values('connection')).toEqual(['close'])
  await client.ended()
  expect(upstream.bytesReceived).toBe(before)
  return answer
}

test.each([
  ['a NUL in a value', `PUT /x HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n${CLAIM}\r\n`],
  ['a bare CR in a value', `PUT /x HTTP/1.1\r\nHost: a\r\nX-A: b\rFencing-Token: 1\r\n${CLAIM}\r\n`],
  ['a bare LF after a line', `PUT /x HTTP/1.1\r\nHost: a\nX-A: b\r\n${CLAIM}\r\n`],
  ['a space before the colon', `PUT /x HTTP/1.1\r\nHost: a\r\nFencing-Token : 9\r\n${CLAIM}\r\n`],
  ['a line without a colon', `PUT /x HTTP/1.1\r\nHost: a\r\nnonsense\r\n${CLAIM}\r\n`],
  ['two lengths', `PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
  ['a length that is none', `PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}Content-Length: -1\r\n\r\n`],
  [
    'a length and a chunked body',
    `PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'an HTTP/1.0 body in chunks',
    `PUT /x HTTP/1.0\r\nHost: a\r\n${CLAIM}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  ],
  ['two equal lengths', `PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}${'Content-Length: 2\r\n'.repeat(2)}\r\n{}`],
  ['a length that is a list', `PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}Content-Length: 2, 2\r\n\r\n{}`],
  ['a signed length', `PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}Content-Length: +2\r\n\r\n{}`],
  ['a folded value', `PUT /x HTTP/1.1\r\nHost: a\r\nX-A: b\r\n Fencing-Token: 1\r\n${CLAIM}\r\n`],
  ['DEL in a value', `PUT /x HTTP/1.1\r\nHost: a\r\nX-A: a\x7fb\r\n${CLAIM}\r\n`],
  ['a target that is not ASCII', `PUT /caf\xc3\xa9 HTTP/1.1\r\nHost: a\r\n${CLAIM}\r\n`],
  ['no Host', `PUT /x HTTP/1.1\r\n${CLAIM}\r\n`],
  ['two Hosts', `PUT /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n${CLAIM}\r\n`],
  ['HTTP/0.9', `PUT /x\r\nHost: a\r\n${CLAIM}\r\n`],
  ['HTTP/2.0', `PUT /x HTTP/2.0\r\nHost: a\r\n${CLAIM}\r\n`],
])('%s: malformed-request', async (_, bytes) => {
  refusal(await answerTo(bytes), 400, 'malformed-request')
})

test('TLS on the plain port is answered in the clear, and goes nowhere', async () => {
  const answer = await answerTo('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03')
  expect([400, 501]).toContain(answer.status)
})

test('a head larger than limits.headSize: 431', async () => {
  const answer = await answerTo(`PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}X-A: ${'a'.repeat(9000)}\r\n\r\n`)
  expect(refusal(answer, 431, 'head-too-large').detail).toContain('limits.headSize')
})

test('a head of megabytes: 431, not a reset that overtakes it', async () => {
  const client = await RawClient.connect(sidecar.port)
  void client.send(`PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}X-A: ${'a'.repeat(4e6)}\r\n\r\n`)
  refusal(await client.answer(), 431, 'head-too-large')
  client.close()
})

test('a head below limits.headSize passes', async () => {
  expect((await send(claim('K', 9, { headers: [['X-A', 'a'.repeat(7000)]] }))).status).toBe(200)
})

test('a head slower than limits.headTimeout: 408', async () => {
  const client = await RawClient.connect(sidecar.port)
  await client.send(`PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}`)
  const answer = await client.answer()
  expect(refusal(answer, 408, 'head-timeout').detail).toContain('limits.headTimeout')
  await client.ended()
})

test('a transfer coding other than chunked: 501', async () => {
  const client = await RawClient.connect(sidecar.port)
  await client.send(`PUT /x HTTP/1.1\r\nHost: a\r\n${CLAIM}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`)
  refusal(await client.answer(), 501, 'unsupported-coding')
  client.close()
})

test('a parse error behind a request that is being answered does not answer in its place', async () => {
  const client = await RawClient.connect(sidecar.port)
  await client.send(`PUT /x HTTP/1.1\r\nHost: a\r\n\r\nnonsense\r\n\r\n`)
  refusal(await client.answer(), 428, 'token-required')
  client.close()
})
