/** Two writes of one task and token in one segment reach the resource one after the other, and are answered so. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, connect, metric } = await scene()

test('the second is sent once the first is answered', async () => {
  const held = upstream.hold()
  upstream.answerOnce({ body: 'two' })
  const client = await connect()
  await client.send(
    Buffer.concat([
      encode(claim('K', 1, { target: '/first' })),
      encode(claim('K', 1, { target: '/second' })),
    ]),
  )
  await held.arrived
  // Two scrapes later, the second had every chance to overtake.
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'one open write')
  expect(await metric('fencegate_open_writes')).toBe(1)
  expect(upstream.requests.map(({ target }) => target)).toEqual(['/first'])
  held.release({ body: 'one' })
  expect((await client.answer()).body.text).toBe('one')
  expect((await client.answer()).body.text).toBe('two')
  const order = upstream.events.map(({ what, request }) => `${request?.target} ${what}`)
  expect(order.indexOf('/second head')).toBeGreaterThan(order.indexOf('/first answered'))
  client.close()
})
