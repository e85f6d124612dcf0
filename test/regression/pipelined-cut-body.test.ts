/** A pipelined write whose client goes away within its body, while the answer before it is still owed. */
import { expect, test } from 'vitest'
import { encode, type RawClient } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, sidecar, send, connect, metric } = await scene()

test.each<[string, (client: RawClient) => void]>([
  ['closes', (client) => client.close()],
  ['resets', (client) => client.reset()],
  ['half-closes', (client) => client.socket.end()],
])('the client %s: no write stays open, and the sidecar goes on', async (how, leave) => {
  const held = upstream.hold()
  const client = await connect()
  const cut = claim(`second-${how}`, 1, { body: 'ab', headers: [['Content-Length', '9']] })
  await client.send(Buffer.concat([encode(claim(`first-${how}`, 1)), encode(cut)]))
  await held.arrived
  leave(client)
  held.release()
  await until(async () => (await metric('fencegate_open_writes')) === 0, 'no open write')
  client.close()
  expect(upstream.whole).toHaveLength(1)
  for (const task of [`first-${how}`, `second-${how}`]) expect((await send(claim(task, 2))).status).toBe(200)
  expect(sidecar.logs.filter(({ level }) => ['error', 'fatal', 50, 60].includes(level))).toEqual([])
})
