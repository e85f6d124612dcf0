/** `Fencing-Holder`: the first holder that writes with a token keeps it; two holders of one token can't both write. */
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, sidecar, send } = await scene()
const by = (holder: string | undefined, task: string, token: number, announce = false) =>
  claim(task, token, {
    ...(holder !== undefined && { headers: [['Fencing-Holder', holder] as const] }),
    ...(announce && { method: 'POST', target: '/.well-known/fencegate/announce' }),
  })
const holders = () => upstream.requests.map((request) => request.values('fencing-holder').join())

test('the same token from another holder is refused, and nothing is sent', async () => {
  expect((await send(by('worker-a', 'K', 8))).status).toBe(200)
  const answer = await send(by('worker-b', 'K', 8))
  const problem = refusal(answer, 409, 'token-conflict')
  expect(problem).toMatchObject({ task: 'K', token: '8', sent: 'no', retry: 'never' })
  expect(answer.values('retry-after')).toEqual([])
  refusal(await send(by('Worker-A', 'K', 8)), 409, 'token-conflict')
  refusal(await send(by('worker-b', 'K', 8, true)), 409, 'token-conflict')
  expect((await send(by('worker-a', 'K', 8))).status).toBe(200)
  // Who doesn't name itself can't be told apart.
  expect((await send(by(undefined, 'K', 8))).status).toBe(200)
  expect(holders()).toEqual(['worker-a', 'worker-a', ''])
})

test('a higher token is a new start; a lower one is stale, whoever sends it', async () => {
  expect((await send(by('worker-b', 'K', 9))).status).toBe(200)
  refusal(await send(by('worker-a', 'K', 9)), 409, 'token-conflict')
  refusal(await send(by('worker-a', 'K', 8)), 412, 'stale-token')
  refusal(await send(by('worker-b', 'K', 8)), 412, 'stale-token')
})

test('a token that was used without a name goes to the first that names itself', async () => {
  expect((await send(by(undefined, 'unnamed', 8))).status).toBe(200)
  expect((await send(by('worker-b', 'unnamed', 8))).status).toBe(200)
  refusal(await send(by('worker-a', 'unnamed', 8)), 409, 'token-conflict')
})

test('an announcement names the holder', async () => {
  expect((await send(by('worker-a', 'announced', 8, true))).status).toBe(204)
  refusal(await send(by('worker-b', 'announced', 8)), 409, 'token-conflict')
  expect((await send(by('worker-a', 'announced', 8))).status).toBe(200)
})

test('of holders that race for one token exactly one gets it', async () => {
  const names = Array.from({ length: 10 }, (_, i) => `worker-${i}`)
  const answers = await Promise.all(names.map((name) => send(by(name, 'race', 8))))
  const winners = answers.filter(({ status }) => status === 200)
  expect(winners).toHaveLength(1)
  for (const answer of answers) if (answer.status !== 200) refusal(answer, 409, 'token-conflict')
  expect(upstream.requests).toHaveLength(1)
})

test.each(['', 'two words', 'a,b', 'caf\u00e9', 'a'.repeat(257)])('malformed: %j', async (holder) => {
  refusal(await send(by(holder, 'malformed', 8)), 400, 'malformed-token')
  expect(upstream.requests).toEqual([])
})

test('twice in one request', async () => {
  const headers = [
    ['Fencing-Holder', 'worker-a'],
    ['fencing-holder', 'worker-a'],
  ] as const
  refusal(await send(claim('malformed', 8, { headers })), 400, 'malformed-token')
})

test('the holder survives kill -9 and a clean stop', async () => {
  await sidecar.kill()
  const second = await sidecar.restart()
  refusal(await exchange(second.port, by('worker-a', 'K', 9)), 409, 'token-conflict')
  expect((await exchange(second.port, by('worker-b', 'K', 9))).status).toBe(200)
  refusal(await exchange(second.port, by('worker-a', 'unnamed', 8)), 409, 'token-conflict')
  expect(await second.stop()).toBe(0)
  const third = await second.restart()
  refusal(await exchange(third.port, by('worker-b', 'announced', 8)), 409, 'token-conflict')
  expect((await exchange(third.port, by('worker-a', 'announced', 8))).status).toBe(200)
  expect(await third.stop()).toBe(0)
})
