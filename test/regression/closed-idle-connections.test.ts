/** The resource closes its idle connections while the sidecar waits for a body: the write is served all the same. */
import { expect, test } from 'vitest'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { upstream, send, connect, metric } = await scene({ upstream: { connections: 1 } })

test('a body that begins after its connection was closed', async () => {
  for (let round = 0; round < 10; round++) {
    expect((await send(claim('K', 1))).status).toBe(200)
    const idle = upstream.connections.filter(({ ended }) => !ended)
    expect(idle).toHaveLength(1)
    const client = await connect()
    await client.send(encode(claim('K', 1, { body: '', headers: [['Content-Length', '2']] })))
    await until(async () => (await metric('fencegate_open_writes')) === 1, 'the permit')
    for (const { socket } of idle) socket.end()
    await upstream.changes.when(() => idle.every(({ ended }) => ended), 'the end of the idle connection')
    await client.send('{}')
    expect((await client.answer()).status).toBe(200)
    expect(upstream.last.body.text).toBe('{}')
    client.close()
  }
})
