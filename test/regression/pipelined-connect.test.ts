/** CONNECT is refused, and never in the place of an answer that another request is owed. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, connect } = await scene()
const CONNECT = Buffer.from('CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: a\r\n\r\n')

test('after a write that is not answered yet: its own answer, then the end', async () => {
  const held = upstream.hold()
  const client = await connect()
  await client.send(Buffer.concat([encode(claim('K', 1)), CONNECT]))
  await held.arrived
  held.release({ body: 'mine' })
  const answer = await client.answer()
  expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
  const { received } = client.reader
  await client.ended()
  expect(client.reader.received).toBe(received)
})

test('alone: 501', async () => {
  const client = await connect()
  await client.send(CONNECT)
  refusal(await client.answer('CONNECT'), 501, 'unsupported-method')
  await client.ended()
  expect(upstream.requests).toEqual([])
})
