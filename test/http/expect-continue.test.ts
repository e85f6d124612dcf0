/** CASES 4: `Expect: 100-continue` is answered by the sidecar, and only for a write that goes through. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { sha256 } from '../support/wire.ts'

const { upstream, send, connect } = await scene()
const BODY = Buffer.alloc(2e6, 'two megabytes ')
const expecting = (token: number) =>
  encode(
    claim('K', token, {
      body: '',
      headers: [
        ['Expect', '100-continue'],
        ['Content-Length', String(BODY.length)],
      ],
    }),
  )

await send(claim('K', 8))

test('a current write gets 100, then arrives whole', async () => {
  const client = await connect()
  await client.send(expecting(9))
  expect((await client.head()).status).toBe(100)
  await client.send(BODY)
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.sha256).toBe(sha256(BODY))
  expect(upstream.last.values('expect')).toEqual([])
  client.close()
})

test('a stale write gets its 412 with no 100 before it and no body read', async () => {
  const bytes = upstream.bytesReceived
  const client = await connect()
  await client.send(expecting(7))
  const answer = await client.answer()
  refusal(answer, 412, 'stale-token')
  expect(answer.interim).toEqual([])
  expect(answer.values('connection')).toEqual(['close'])
  expect(await client.ended()).toBe('fin')
  expect(upstream.bytesReceived).toBe(bytes)
})

test('a client that sends its body without waiting is served as well', async () => {
  const client = await connect()
  await client.send(Buffer.concat([expecting(9), BODY]))
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.sha256).toBe(sha256(BODY))
  client.close()
})

test('an expectation that nobody knows: 417', async () => {
  const bytes = upstream.bytesReceived
  refusal(await send(claim('K', 9, { headers: [['Expect', 'miracle']] })), 417, 'unsupported-expectation')
  expect(upstream.bytesReceived).toBe(bytes)
})
