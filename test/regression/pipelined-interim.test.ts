/** Interim answers to a pipelined request come after the whole answer to the request before it. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const { upstream, connect } = await scene()

test('a 100 of the sidecar', async () => {
  const held = upstream.hold()
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
  await held.arrived
  held.release({ body: 'one' })
  const first = await client.answer()
  expect([first.status, first.body.text, first.interim]).toEqual([200, 'one', []])
  expect((await client.head()).status).toBe(100)
  await client.send('{}')
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.text).toBe('{}')
  client.close()
})

test.runIf(Number(process.versions.node.split('.')[0]) >= 26)('a 103 of the resource', async () => {
  const held = upstream.hold()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    await exchange.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')
    await exchange.answer({ body: 'two' })
  })
  const client = await connect()
  await client.send(Buffer.concat([encode(claim('K', 1)), encode(claim('K', 1))]))
  await held.arrived
  held.release({ body: 'one' })
  const [first, second] = [await client.answer(), await client.answer()]
  expect([first.body.text, first.interim]).toEqual(['one', []])
  expect([second.body.text, second.interim.map(({ status }) => status)]).toEqual(['two', [103]])
  client.close()
})
