/**
 * What stands behind a request that offers an upgrade. Node's parser loses the rest of its segment, and would take
 * the next segment for the beginning of a request: such a connection closes, and nothing behind is processed.
 */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const { upstream, send, connect, metric } = await scene()
await send(claim('K', 1))
const OFFER = [
  ['Connection', 'Upgrade, HTTP2-Settings'],
  ['Upgrade', 'h2c'],
  ['HTTP2-Settings', 'AAMAAABkAAQAoAAAAAIAAAAA'],
] as const
const offering = claim('K', 1, { method: 'POST', headers: OFFER })
const smuggled = encode(claim('S', 1, { target: '/smuggled' }))
/** The head of a write whose body is another write. */
const wrapper = encode(claim('K', 1, { body: '', headers: [['Content-Length', String(smuggled.length)]] }))

test('alone, it leaves its connection open: in one segment or in two, with a body or without', async () => {
  const client = await connect()
  const bodyless = { method: 'GET', headers: OFFER }
  for (const request of [offering, bodyless, offering]) {
    const answer = await client.exchange(request)
    expect([answer.status, answer.values('connection')]).toEqual([200, ['keep-alive']])
  }
  const head = encode(claim('K', 1, { headers: [...OFFER, ['Content-Length', '4']], body: '' }))
  await client.send(head)
  await client.send('ab')
  await upstream.changes.when(() => upstream.last.body.text === 'ab', 'the first half')
  await client.send('cd')
  expect((await client.answer()).values('connection')).toEqual(['keep-alive'])
  expect(upstream.last.body.text).toBe('abcd')
  expect((await client.exchange(claim('K', 1))).status).toBe(200)
  client.close()
})

test('whose end cannot be told, it is the last', async () => {
  const client = await connect()
  const answer = await client.exchange({ ...offering, chunked: true })
  expect([answer.status, answer.values('connection')]).toEqual([200, ['close']])
  await client.ended()
})

const whole = encode(offering)
const end = whole.length - 1

test.each<[string, Buffer[]]>([
  ['in its segment', [Buffer.concat([whole, smuggled])]],
  ['in part', [Buffer.concat([whole, wrapper]), smuggled]],
  [
    'behind the end of its body',
    [whole.subarray(0, end), Buffer.concat([whole.subarray(end), wrapper]), smuggled],
  ],
  ['in the next segment', [whole, smuggled]],
])('a request behind it %s is not processed', async (_, segments) => {
  const held = upstream.hold()
  const raises = await metric('fencegate_raises_total')
  const client = await connect()
  for (const segment of segments) {
    await client.send(segment)
    // A scrape later the sidecar has read it.
    await metric('fencegate_open_writes')
  }
  await held.arrived
  held.release({ body: 'mine' })
  expect((await client.answer()).body.text).toBe('mine')
  const { received } = client.reader
  await client.ended()
  expect(client.reader.received).toBe(received)
  expect(upstream.requests.map(({ target }) => target)).toEqual(['/x'])
  expect(await metric('fencegate_raises_total')).toBe(raises)
})
