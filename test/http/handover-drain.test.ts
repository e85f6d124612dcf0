/** P1 and P2: a lower write that is open is answered, or its connection gone, before a higher one is sent. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene({ handoverTimeout: '20s' })
const pending = () =>
  until(async () => (await metric('fencegate_handovers_pending')) === 1, 'a pending handover')
const quiet = () => until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
/** The head of a write of 8 bytes, and its first bytes. */
const opening = (task: string, token: number, bytes: string) =>
  encode(claim(task, token, { body: bytes, headers: [['Content-Length', '8']] }))
/** What happened at the upstream, and to which token. */
const story = () =>
  upstream.events.map(({ what, request }) =>
    `${what} ${request?.values('fencing-token').join() ?? ''}`.trim(),
  )

test('a higher token waits for the answer to a lower write; meanwhile lower tokens are stale', async () => {
  const held = upstream.hold()
  const low = send(claim('drain', 8))
  await held.arrived
  const high = send(claim('drain', 9))
  await pending()
  refusal(await send(claim('drain', 8)), 412, 'stale-token')
  refusal(await send(claim('drain', 7)), 412, 'stale-token')
  expect(upstream.requests).toHaveLength(1)
  held.release()
  expect((await low).status).toBe(200)
  expect((await high).status).toBe(200)
  expect(story()).toEqual(['head 8', 'body-end 8', 'answered 8', 'head 9', 'body-end 9', 'answered 9'])
})

test('all that wait for one handover go on when it is over', async () => {
  const held = upstream.hold()
  const low = send(claim('many', 8))
  await held.arrived
  const high = Array.from({ length: 10 }, () => send(claim('many', 9)))
  await pending()
  held.release()
  for (const answer of [low, ...high]) expect((await answer).status).toBe(200)
  expect(story().slice(0, 3)).toEqual(['head 8', 'body-end 8', 'answered 8'])
})

test('writes of one token, and of several tasks, run at the same time', async () => {
  const held = [upstream.hold(), upstream.hold(), upstream.hold()]
  const writes = [claim('one', 8), claim('one', 8), claim('two', 5)].map((request) => send(request))
  for (const { arrived } of held) await arrived
  for (const one of held) one.release()
  for (const write of writes) expect((await write).status).toBe(200)
})

test('a body that trickles keeps the successor waiting, until it is whole and answered', async () => {
  const client = await connect()
  await client.send(opening('trickle', 8, 'abc'))
  await upstream.changes.when(() => upstream.requests[0]?.body.bytes === 3, 'the first bytes')
  const high = send(claim('trickle', 9))
  await pending()
  for (const byte of 'defgh') {
    await client.send(byte)
    await upstream.changes.when(() => upstream.requests[0]?.body.text.at(-1) === byte, `the byte ${byte}`)
    if (byte !== 'h') expect(upstream.requests).toHaveLength(1)
  }
  expect((await client.answer()).status).toBe(200)
  expect((await high).status).toBe(200)
  expect(story().indexOf('answered 8')).toBeLessThan(story().indexOf('head 9'))
  client.close()
})

test('a write of which no byte was sent is stale once a higher token is on record', async () => {
  const bytes = upstream.bytesReceived
  const client = await connect()
  await client.send(opening('unbegun', 8, ''))
  await until(async () => (await metric('fencegate_open_writes')) === 1, 'the permit of 8')
  expect((await send(claim('unbegun', 9))).status).toBe(200)
  refusal(await client.answer(), 412, 'stale-token')
  // A connection that was made for 8 carried nothing.
  expect(story().filter((event) => event !== 'ended')).toEqual(['head 9', 'body-end 9', 'answered 9'])
  expect(upstream.bytesReceived - bytes).toBeLessThan(300)
  client.close()
})

test('a client that leaves after its body does not release its write', async () => {
  const held = upstream.hold()
  const client = await connect()
  await client.send(encode(claim('left', 8)))
  await held.arrived
  client.reset()
  const high = send(claim('left', 9))
  await pending()
  expect(upstream.requests).toHaveLength(1)
  held.release()
  expect((await high).status).toBe(200)
  expect(story().indexOf('answered 8')).toBeLessThan(story().indexOf('head 9'))
})

test('a client that leaves within its body ends the write at the resource, and the successor goes on', async () => {
  const unknown = await metric('fencegate_outcomes_total', { outcome: 'unknown' })
  const client = await connect()
  await client.send(opening('midway', 8, 'abc'))
  await upstream.changes.when(() => upstream.requests[0]?.body.bytes === 3, 'the first bytes')
  const high = send(claim('midway', 9))
  await pending()
  client.reset()
  expect((await high).status).toBe(200)
  expect(upstream.requests[0]?.body.complete).toBe(false)
  expect(story().indexOf('ended')).toBeLessThan(story().indexOf('head 9'))
  await quiet()
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(unknown + 1)
})

test('a successor whose client leaves while it waits is never sent, but its token is on record', async () => {
  const held = upstream.hold()
  const low = send(claim('impatient', 8))
  await held.arrived
  const client = await connect()
  await client.send(encode(claim('impatient', 9)))
  await pending()
  client.reset()
  held.release()
  expect((await low).status).toBe(200)
  await quiet()
  refusal(await send(claim('impatient', 8)), 412, 'stale-token')
  expect((await send(claim('impatient', 9))).status).toBe(200)
  expect(story().filter((event) => event.startsWith('head'))).toEqual(['head 8', 'head 9'])
})

test('an early answer does not release a write whose body is still under way', async () => {
  upstream.once((exchange) => exchange.answer({ body: 'early' }))
  const client = await connect()
  await client.send(opening('early', 8, 'abc'))
  expect((await client.answer()).body.text).toBe('early')
  expect((await send(claim('early', 9))).status).toBe(200)
  const low = upstream.requests[0]
  const [ended, head] = [story().indexOf('ended'), story().indexOf('head 9')]
  expect(low?.body.complete).toBe(false)
  expect(ended).toBeGreaterThanOrEqual(0)
  expect(ended).toBeLessThan(head)
  client.close()
})

test('an answer under way counts as open', async () => {
  const { promise: goOn, resolve } = Promise.withResolvers<void>()
  upstream.once(async (exchange) => {
    await exchange.wholeBody()
    // What is written by hand ends its connection, which the next request must not find closing.
    await exchange.write('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc')
    await goOn
    await exchange.write('def')
  })
  const low = send(claim('answering', 8))
  await upstream.received(1)
  const high = send(claim('answering', 9))
  await pending()
  expect(upstream.requests).toHaveLength(1)
  resolve()
  expect((await low).body.text).toBe('abcdef')
  expect((await high).status).toBe(200)
})

test('tokens that race reach the resource in order, whoever is drained', async () => {
  upstream.script = async (exchange) => {
    await exchange.wholeBody()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await exchange.answer()
  }
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => send(claim('race', ((i * 17) % 40) + 1))),
  )
  const tokens = upstream.requests.map((request) => Number(request.values('fencing-token')[0]))
  expect(tokens).toEqual([...tokens].sort((a, b) => a - b))
  expect(tokens.at(-1)).toBe(40)
  for (const { status } of answers) expect([200, 412]).toContain(status)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(tokens.length)
})
