/** A refusal that ends the connection reaches a client that sends its body before it reads. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'

const { send, connect } = await scene()
const BODY = 'a short body, sent late '.repeat(1000)

await send(claim('K', 9))

test.each([
  ['Connection: close', 'PUT /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n'],
  ['HTTP/1.0', 'PUT /x HTTP/1.0\r\n'],
])('a stale write with %s and a short body', async (_, start) => {
  const client = await connect()
  client.reader.pause()
  await client.send(`${start}Fencing-Task: K\r\nFencing-Token: 8\r\nContent-Length: ${BODY.length}\r\n\r\n`)
  // Answered while the second connection was: by then a socket that closes without reading would be reset.
  refusal(await send(claim('K', 8)), 412, 'stale-token')
  for (let i = 0; i < BODY.length; i += 6000) await client.send(BODY.slice(i, i + 6000))
  client.reader.resume()
  const answer = await client.answer()
  refusal(answer, 412, 'stale-token')
  expect(answer.values('connection')).toEqual(['close'])
  expect(await client.ended()).toBe('fin')
})
