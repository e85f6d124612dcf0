/** CASES 16: raises that race through slow commits reach the resource in order, and none is forgotten. */
import { expect, test } from 'vitest'
import { Commits } from '../support/commits.ts'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { shuffled } from '../support/shuffle.ts'
import { until } from '../support/wait.ts'

const commits = new Commits()
commits.slow(50)
const config = { upstream: { connections: 1 }, handoverTimeout: '20s', store: { timeout: '20s' } }
const { upstream, sidecar, send, metric } = await scene(config, commits.options)
const SEED = Number(process.env.SEED ?? Date.now() % 1e6)

test(`200 writes with tokens 1 to 200, shuffled (SEED=${SEED})`, async () => {
  const tokens = shuffled(
    Array.from({ length: 200 }, (_, i) => i + 1),
    SEED,
  )
  const answers = await Promise.all(tokens.map((token) => send(claim('K', token), 30_000)))
  for (const answer of answers) if (answer.status !== 200) refusal(answer, 412, 'stale-token')
  const sent = upstream.requests.map((request) => Number(request.values('fencing-token')[0]))
  expect(sent).toEqual([...sent].sort((a, b) => a - b))
  expect(new Set(sent).size).toBe(sent.length)
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(sent.length)
  expect(sent.at(-1)).toBe(200)
  expect(refusal(await send(claim('K', 199)), 412, 'stale-token').highest).toBe('200')
  // They coalesced: far fewer commits than tokens.
  expect(await metric('fencegate_store_commit_sequence')).toBeLessThan(100)
})

test('kill -9 between the commit and the send: the mark holds, and its token is accepted', async () => {
  commits.release()
  const held = upstream.hold()
  send(claim('other', 1)).catch(() => {})
  await held.arrived
  const raises = await metric('fencegate_raises_total')
  const waiting = send(claim('cut', 200))
  waiting.catch(() => {})
  await until(async () => (await metric('fencegate_raises_total')) === raises + 1, 'the raise to 200')
  expect(upstream.requests).toHaveLength(1)
  await sidecar.kill()
  await expect(waiting).rejects.toThrow()
  expect(upstream.requests).toHaveLength(1)

  const again = await sidecar.restart()
  refusal(await exchange(again.port, claim('cut', 199)), 412, 'stale-token')
  expect((await exchange(again.port, claim('cut', 200))).status).toBe(200)
  expect(upstream.last.values('fencing-token')).toEqual(['200'])
  refusal(await exchange(again.port, claim('K', 199)), 412, 'stale-token')
})
