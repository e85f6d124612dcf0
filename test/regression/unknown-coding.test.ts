/** A transfer coding that isn't chunked gets its own answer, though the body after it can't be read. */
import { expect, test } from 'vitest'
import { refusal, scene } from '../support/scene.ts'

const { upstream, connect, metric } = await scene()

test.each(['xchunked', 'gzip, chunked'])('Transfer-Encoding: %s with a body', async (coding) => {
  const client = await connect()
  await client.send(
    `POST /x HTTP/1.1\r\nHost: a\r\nFencing-Task: K\r\nFencing-Token: 1\r\nTransfer-Encoding: ${coding}\r\n\r\n` +
      '2\r\n{}\r\n0\r\n\r\n',
  )
  refusal(await client.answer('POST'), 501, 'unsupported-coding')
  await client.ended()
  expect(upstream.requests).toEqual([])
  expect(await metric('fencegate_open_writes')).toBe(0)
})
