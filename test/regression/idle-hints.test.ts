/** A resource that says how long it keeps an idle connection is believed: no write goes where it may be closing. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'

const { upstream, send } = await scene({ upstream: { connections: 1 } })

test.each([
  ['timeout=1', false],
  ['timeout=0, max=100', false],
  ['timeout=60', true],
  ['max=100', true],
  ['timeout=x', true],
])('Keep-Alive: %s; used again: %s', async (hint, again) => {
  for (const [method, body] of [
    ['PUT', '{}'],
    ['GET', undefined],
  ] as const) {
    upstream.answerOnce({ headers: [['Keep-Alive', hint]] })
    const answer = await send(claim('K', 1, { method, body }))
    expect(answer.values('keep-alive')).not.toContain(hint)
    const { connection } = upstream.last
    expect((await send(claim('K', 1, { method, body }))).status).toBe(200)
    expect(upstream.last.connection === connection).toBe(again)
  }
})

test('an answer that says close, or that is followed by the end, is the last of its connection', async () => {
  for (const close of [true, false]) {
    for (let round = 0; round < 5; round++) {
      upstream.once(async (exchange) => {
        await exchange.wholeBody()
        await exchange.answer({ headers: close ? [['Connection', 'close']] : [], body: 'mine' })
        exchange.reusable = false
        exchange.close()
      })
      expect((await send(claim('K', 1))).body.text).toBe('mine')
    }
  }
  expect(upstream.requests).toHaveLength(10)
})
