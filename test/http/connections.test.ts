/** Client connections: old ones, silent ones, pipelined ones; none stays for ever. */
import fs from 'node:fs'
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, sidecar, send, connect } = await scene({
  limits: { headTimeout: '600ms', idleTimeout: '400ms' },
})
const descriptors = () => fs.readdirSync(`/proc/${sidecar.process.pid}/fd`).length

test('requests that are pipelined are decided and answered in order', async () => {
  const client = await connect()
  const sent = [claim('pipe', 9), claim('pipe', 8), claim('pipe', 9), claim('pipe', 10)]
  await client.send(Buffer.concat(sent.map(encode)))
  const statuses = []
  for (const _ of sent) statuses.push((await client.answer()).status)
  // Raises that come at the same time may coalesce: then only the highest is sent.
  expect(statuses.slice(-1)).toEqual([200])
  const tokens = upstream.requests.map((request) => Number(request.values('fencing-token')[0]))
  expect(tokens).toEqual([...tokens].sort((a, b) => a - b))
  expect(tokens).toHaveLength(statuses.filter((status) => status === 200).length)
  expect(tokens).not.toContain(8)
  client.close()
})

test('an HTTP/1.0 client is served', async () => {
  for (const framing of ['length', 'chunked', 'until-close'] as const) {
    upstream.answerOnce({ body: 'old', framing })
    const client = await connect()
    await client.send(
      'PUT /x HTTP/1.0\r\nFencing-Task: old\r\nFencing-Token: 1\r\nContent-Length: 2\r\n\r\n{}',
    )
    const answer = await client.answer()
    expect([answer.status, answer.body.text]).toEqual([200, 'old'])
    expect(answer.values('transfer-encoding')).toEqual([])
    expect(upstream.last.body.text).toBe('{}')
    await client.ended()
  }
})

test('an idle connection ends after limits.idleTimeout', async () => {
  const client = await connect()
  expect((await client.exchange(claim('idle', 1))).status).toBe(200)
  expect(await client.ended()).toBe('fin')
})

test.runIf(process.platform === 'linux')(
  'connections that say nothing are closed, on either side',
  async () => {
    const before = descriptors()
    const silent = await Promise.all(Array.from({ length: 50 }, () => connect()))
    for (const client of silent.slice(0, 20)) client.close()
    for (const client of silent.slice(20, 30)) client.socket.end()
    for (const client of silent.slice(30)) await client.ended()
    await until(() => descriptors() <= before + 3, 'the sockets closed')
    expect((await send(claim('idle', 1))).status).toBe(200)
  },
)
