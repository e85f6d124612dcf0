/** The log: a stale rejection is a warning that names its worker; bodies and secrets are nowhere. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'

const { upstream, sidecar, send, connect } = await scene({ log: { level: 'debug' } })
const stale = (line: { msg: string; [field: string]: unknown }) =>
  line.code === 'stale-token' || line.msg.includes('stale')
const CANARY = 'canary-7f3a'

test('the first stale rejection of a task and token is logged at once, repeats as a count', async () => {
  await send(claim('K', 9))
  const client = await connect()
  const worker = claim('K', 8, { headers: [['User-Agent', 'settlement-worker/2.1']] })
  refusal(await client.exchange(worker), 412, 'stale-token')
  const line = await sidecar.process.log((found) => stale(found) && found.token === '8', 'the warning')
  expect(line).toMatchObject({ task: 'K', token: '8', highest: '9', userAgent: 'settlement-worker/2.1' })
  expect(['warn', 40]).toContain(line.level)
  expect(String(line.client)).toContain('127.0.0.1')

  for (let i = 0; i < 5; i++) refusal(await client.exchange(worker), 412, 'stale-token')
  refusal(await client.exchange(claim('K', 7)), 412, 'stale-token')
  await sidecar.process.log((found) => stale(found) && found.token === '7', 'the warning for another token')
  expect(sidecar.logs.filter((found) => found.token === '8')).toHaveLength(1)
  const repeats = (found: { [field: string]: unknown }) => found.token === '8' && found !== line
  const summary = await sidecar.process.log(repeats, 'the count of the repeats', 15_000)
  expect(Object.values(summary)).toContain(5)
  client.close()
})

test('lines of one request carry its id, and its traceparent', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  refusal(
    await send(
      claim('traced', 1, {
        headers: [
          ['Fencing-Token', '2'],
          ['traceparent', traceparent],
        ],
      }),
    ),
    400,
    'malformed-token',
  )
  await send(claim('traced', 9))
  refusal(await send(claim('traced', 8, { headers: [['traceparent', traceparent]] })), 412, 'stale-token')
  const line = await sidecar.process.log((found) => found.task === 'traced' && stale(found), 'the warning')
  expect(line.traceparent).toBe(traceparent)
  expect(line).toHaveProperty('requestId')
})

test('no body, credential or query gets into the log or a refusal', async () => {
  const headers = [
    ['Authorization', `Bearer ${CANARY}`],
    ['Cookie', `session=${CANARY}`],
    ['X-Api-Key', CANARY],
    ['Content-Type', 'application/json'],
  ] as const
  const secret = { target: '/x', headers, body: `{"iban":"${CANARY}"}` }
  const requests = [
    claim('secret', 9, secret),
    claim('secret', 8, secret),
    { ...secret, method: 'POST' },
    { ...secret, method: 'GET' },
    { ...secret, headers: [...headers, ['Fencing-Task', 'secret'], ['Fencing-Token', 'x']] as const },
  ]
  for (const request of requests) expect((await send(request)).body.text).not.toContain(CANARY)
  upstream.once((exchange) => exchange.reset())
  refusal(await send(claim('secret', 9, secret)), 502, 'outcome-unknown')
  upstream.answerOnce({ status: 500, reason: 'Oh', body: CANARY })
  await send(claim('secret', 9, secret))
  const client = await connect()
  await client.send(`PUT /x HTTP/1.1\r\nHost: a\r\nAuthorization: ${CANARY}\r\nnonsense ${CANARY}\r\n\r\n`)
  refusal(await client.answer(), 400, 'malformed-request')
  expect(await sidecar.stop()).toBe(0)
  expect(sidecar.process.output).not.toContain(CANARY)
  expect(sidecar.logs.length).toBeGreaterThan(3)
})
