/** An answer whose head is larger than undici takes by itself. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'

const { upstream, send } = await scene()
const VALUE = 'a'.repeat(20 * 1024)

test.each(['PUT', 'GET'])('20 KB, to %s', async (method) => {
  upstream.answerOnce({ headers: [['X-Long', VALUE]], body: 'mine' })
  const answer = await send(claim('K', 1, { method }))
  expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
  expect(answer.values('x-long')).toEqual([VALUE])
})
