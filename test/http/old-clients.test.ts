/** HTTP/1.0 clients: served by HTTP/1.1 to the resource, and never sent what they can't read. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'
import type { Answer } from '../support/upstream-exchange.ts'

const { upstream, connect } = await scene()
const put = (fields = '') =>
  `PUT /x HTTP/1.0\r\n${fields}Fencing-Task: K\r\nFencing-Token: 1\r\nContent-Length: 2\r\n\r\n{}`

const ANSWERS: [string, Answer][] = [
  ['of a length', { body: 'mine' }],
  ['in chunks', { body: 'mine', framing: 'chunked' }],
  ['to the end of the connection', { body: 'mine', framing: 'until-close' }],
  [
    'in chunks with trailers',
    { headers: [['Trailer', 'X-Sum']], body: 'mine', framing: 'chunked', trailers: [['X-Sum', '1']] },
  ],
]

test.each(ANSWERS)('an answer %s', async (_, answer) => {
  for (const keep of ['', 'Connection: keep-alive\r\n']) {
    upstream.answerOnce(answer)
    const client = await connect()
    await client.send(put(keep))
    const received = await client.answer()
    expect([received.status, received.body.text]).toEqual([200, 'mine'])
    expect([...received.values('transfer-encoding'), ...received.values('trailer')]).toEqual([])
    const kept = keep !== '' && (answer.framing ?? 'length') === 'length'
    expect(received.values('connection')).toEqual([kept ? 'keep-alive' : 'close'])
    if (kept) {
      await client.send(put())
      expect((await client.answer()).status).toBe(200)
    }
    expect(await client.ended()).toBe('fin')
    expect(upstream.last.body.text).toBe('{}')
  }
})

test('no interim answer, not even the 100 that it cannot wait for', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n')
    await exchange.answer({ body: 'mine' })
  })
  const client = await connect()
  await client.send(put('Expect: 100-continue\r\n'))
  const answer = await client.answer()
  expect([answer.status, answer.interim, answer.body.text]).toEqual([200, [], 'mine'])
  expect(upstream.last.values('expect')).toEqual([])
})

test('an answer that is cut is no whole answer', async () => {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
    exchange.close()
  })
  const client = await connect()
  await client.send(put())
  await expect(client.answer()).rejects.toThrow('ended inside')
})

test('its Host, or none, is its own affair', async () => {
  for (const host of ['', 'Host: old.example\r\n']) {
    const client = await connect()
    await client.send(put(host))
    expect((await client.answer()).status).toBe(200)
    expect(upstream.last.values('host')).toEqual([upstream.authority])
  }
  expect((await (await connect()).exchange(claim('K', 1))).status).toBe(200)
})
