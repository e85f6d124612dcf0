/** What the configuration can change about claims. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, send } = await scene({
  claim: { taskHeader: 'X-Job', tokenHeader: 'X-Epoch', maxToken: '9007199254740993', maxTokenJump: '1000' },
  routes: [{ name: 'stripped', match: { path: '/stripped' }, forwardClaim: false }],
})
const job = (task: string, token: string, target = '/x') =>
  send({
    target,
    body: '{}',
    headers: [
      ['X-Job', task],
      ['X-Epoch', token],
    ],
  })

test('claims are read from the configured headers alone', async () => {
  refusal(await send(claim('K', 1)), 428, 'token-required')
  expect((await job('K', '8')).status).toBe(200)
  expect(upstream.last.values('x-epoch')).toEqual(['8'])
  refusal(await job('K', '7'), 412, 'stale-token')
})

test('forwardClaim: false strips the configured headers, and only them', async () => {
  expect((await job('K', '8', '/stripped')).status).toBe(200)
  expect([...upstream.last.values('x-epoch'), ...upstream.last.values('x-job')]).toEqual([])
})

test('a token above maxToken is malformed', async () => {
  refusal(await job('most', '9007199254740994'), 400, 'malformed-token')
  expect((await job('most', '9007199254740993')).status).toBe(200)
})

test('a token further than maxTokenJump above a mark is refused; a task without a mark is not measured', async () => {
  expect((await job('jump', '500000')).status).toBe(200)
  const problem = refusal(await job('jump', '501001'), 403, 'token-jump')
  expect(problem).toMatchObject({ task: 'jump', highest: '500000', sent: 'no', retry: 'never' })
  expect((await job('jump', '500000')).status).toBe(200)
  expect((await job('jump', '501000')).status).toBe(200)
})
