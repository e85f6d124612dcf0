/** CASES 1, 2 and 15: a claim is read from the raw headers, exactly, or the request goes nowhere. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, send, metric } = await scene({ limits: { headerCount: 10_000 } })
const TASK: HeaderPair = ['Fencing-Task', 'K']
const token = (value: string): HeaderPair => ['Fencing-Token', value]

/** More than node:http keeps by itself. */
const MANY = Array.from({ length: 2500 }, (): HeaderPair => ['a', ''])

await send(claim('K', 8))

/** Expects that nothing of the request reached the upstream, and that K's mark is still 8. */
async function nothingHappened(bytesBefore: number, raisesBefore: number) {
  expect(upstream.bytesReceived).toBe(bytesBefore)
  expect(await metric('fencegate_raises_total')).toBe(raisesBefore)
  expect((await send(claim('K', 8))).status).toBe(200)
}

async function refused(headers: readonly HeaderPair[], status: number, code: string) {
  const [bytes, raises] = [upstream.bytesReceived, await metric('fencegate_raises_total')]
  refusal(await send({ headers, body: '{}' }), status, code)
  await nothingHappened(bytes, raises)
}

test.each<[string, HeaderPair[]]>([
  ['two tokens', [TASK, token('7'), token('9')]],
  ['one token twice', [TASK, token('9'), token('9')]],
  ['one token twice, in another case', [TASK, token('9'), ['FENCING-TOKEN', '9']]],
  ['tokens joined by a comma', [TASK, token('9, 7')]],
  ['tokens joined by a bare comma', [TASK, token('9,7')]],
  ['a twin spelt with an underscore', [TASK, token('9'), ['Fencing_Token', '7']]],
  ['a second token behind 2500 fields', [TASK, token('9'), ...MANY, token('7')]],
  ['a token nominated by Connection', [TASK, token('9'), ['Connection', 'close, Fencing-Token']]],
])('%s: malformed-token', (_, headers) => refused(headers, 400, 'malformed-token'))

test.each([
  '9223372036854775808',
  '99999999999999999999',
  '1e3',
  '0x10',
  '+9',
  '-1',
  '9.0',
  '09',
  '0',
  '',
  '9 9',
  '\xb9',
  'c9a646d3-9c61-4cb7-bfcd-ee2522c8f633',
])('the token %j: malformed-token', (value) => refused([TASK, token(value)], 400, 'malformed-token'))

test.each<[string, HeaderPair[]]>([
  ['two tasks', [TASK, ['Fencing-Task', 'L'], token('9')]],
  ['one task twice', [TASK, TASK, token('9')]],
  ['tasks joined by a comma', [['Fencing-Task', 'K, K'], token('9')]],
  ['a twin spelt with an underscore', [TASK, ['fencing_task', 'L'], token('9')]],
  ['a task nominated by Connection', [TASK, token('9'), ['Connection', 'fencing-task']]],
  ['an empty task', [['Fencing-Task', ''], token('9')]],
  ['a task with a space', [['Fencing-Task', 'a b'], token('9')]],
  ['a task that is not ASCII', [['Fencing-Task', 'caf\xe9'], token('9')]],
  ['a task of 257 characters', [['Fencing-Task', 'x'.repeat(257)], token('9')]],
])('%s: malformed-task', (_, headers) => refused(headers, 400, 'malformed-task'))

test.each<[string, HeaderPair[]]>([
  ['neither', []],
  ['no token', [TASK]],
  ['no task', [token('9')]],
])('%s: token-required', (_, headers) => refused(headers, 428, 'token-required'))

test('a task of 256 visible characters is a task', async () => {
  const task = '!~/"{}'.padEnd(256, 'x')
  expect((await send(claim(task, 1))).status).toBe(200)
  expect(upstream.last.values('fencing-task')).toEqual([task])
})

test('a token in a request trailer is never a token, announced or not', async () => {
  const [bytes, raises] = [upstream.bytesReceived, await metric('fencegate_raises_total')]
  const sent = { chunked: true, body: '{}', trailers: [token('9')] }
  const announced: HeaderPair = ['Trailer', 'Fencing-Token']
  refusal(await send({ ...sent, headers: [TASK, announced] }), 400, 'malformed-token')
  refusal(await send(claim('K', 9, { ...sent, headers: [announced] })), 400, 'malformed-token')
  refusal(await send({ ...sent, headers: [TASK] }), 428, 'token-required')
  await nothingHappened(bytes, raises)
})

test('a request trailer that nobody announced is never dropped in silence', async () => {
  const answer = await send(claim('trailer', 9, { chunked: true, body: '{}', trailers: [token('8')] }))
  if (answer.status === 200) expect(upstream.last.body.trailers).toEqual([token('8')])
  else expect([answer.status, upstream.whole]).toEqual([502, []])
})
