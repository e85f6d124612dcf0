/** An answer with `Connection: close` is the last: what was sent behind its request is neither sent on nor decided. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import type { Script } from '../support/recording-upstream.ts'
import { claim, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, send, connect, metric } = await scene()
await send(claim('K', 8))
const BODY = 'x'.repeat(100_000)
const length: HeaderPair = ['Content-Length', String(BODY.length)]
/** Would raise the mark of a task of its own. */
const behind = (task: string) => encode(claim(task, 1, { target: '/behind' }))

async function expectNothingBehind(first: Buffer, rest: string, status: number) {
  const raises = await metric('fencegate_raises_total')
  const client = await connect()
  await client.send(first)
  const answering = client.answer()
  // The rest comes behind the answer, which else might find the body whole and leave the connection open.
  if (rest !== '') await answering
  await client.send(Buffer.concat([Buffer.from(rest), behind(`after-${status}-${first.length}`)]))
  const answer = await answering
  expect([answer.status, answer.values('connection')]).toEqual([status, ['close']])
  expect(await client.ended()).toBe('fin')
  expect(upstream.requests.filter(({ target }) => target === '/behind')).toEqual([])
  expect(await metric('fencegate_raises_total')).toBe(raises)
}

test('the refusal of a long body', () => expectNothingBehind(encode(claim('K', 7, { body: BODY })), '', 412))

test('the refusal of a body that waits for 100', () =>
  expectNothingBehind(encode(claim('K', 7, { headers: [['Expect', '100-continue']], body: '{}' })), '', 412))

test('the refusal of a head that is not HTTP/1.1', () =>
  expectNothingBehind(Buffer.from('PUT /x HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}'), '', 400))

test('the answer to a request that asks for it', () =>
  expectNothingBehind(encode(claim('K', 8, { headers: [['Connection', 'close']] })), '', 200))

const untilClose: Script = async (exchange) => {
  await exchange.wholeBody()
  await exchange.answer({ framing: 'until-close', body: 'old' })
}

test('an answer without length to an HTTP/1.0 client that would keep its connection', () => {
  upstream.once(untilClose)
  const head = 'PUT /x HTTP/1.0\r\nConnection: keep-alive\r\nFencing-Task: K\r\nFencing-Token: 8\r\n'
  return expectNothingBehind(Buffer.from(`${head}Content-Length: 2\r\n\r\n{}`), '', 200)
})

test.each(['PUT', 'GET'])('an answer of the resource to a %s that comes before the body has', (method) => {
  upstream.once((exchange) => exchange.answer({ status: 413, reason: 'Too Large', body: 'enough' }))
  const request = claim('K', 8, { method, headers: [length], body: 'begins' })
  return expectNothingBehind(encode(request), BODY.slice('begins'.length), 413)
})
