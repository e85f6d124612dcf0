/** Interim answers to a pipelined request come after the whole answer to the request before it. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const { upstream, connect, metric } = await scene()

/** Answers the next request in two parts, with time between them for all that another request could do. */
function answerInParts() {
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none')
    for (let scrapes = 0; scrapes < 5; scrapes++) await metric('fencegate_open_writes')
    exchange.reusable = true
    await exchange.write('two')
  })
}

test('a 100 of the sidecar', async () => {
  answerInParts()
  const client = await connect()
  const second = claim('K', 1, {
    target: '/second',
    body: '',
    headers: [
      ['Expect', '100-continue'],
      ['Content-Length', '2'],
    ],
  })
  await client.send(Buffer.concat([encode(claim('K', 1)), encode(second)]))
  const first = await client.answer()
  expect([first.status, first.body.text, first.interim]).toEqual([200, 'onetwo', []])
  expect((await client.head()).status).toBe(100)
  await client.send('{}')
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.text).toBe('{}')
  client.close()
})

test.runIf(Number(process.versions.node.split('.')[0]) >= 26)('a 103 of the resource', async () => {
  answerInParts()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')
    await exchange.answer({ body: 'three' })
  })
  const client = await connect()
  await client.send(Buffer.concat([encode(claim('K', 1)), encode(claim('K', 1))]))
  const [first, second] = [await client.answer(), await client.answer()]
  expect([first.body.text, first.interim]).toEqual(['onetwo', []])
  expect([second.body.text, second.interim.map(({ status }) => status)]).toEqual(['three', [103]])
  client.close()
})
