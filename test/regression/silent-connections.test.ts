/** A health check that connects and leaves without a byte is no request: no line in the log, no socket kept. */
import fs from 'node:fs'
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const { sidecar, send, connect } = await scene({ limits: { headTimeout: '5m' } })
const descriptors = () =>
  process.platform === 'linux' ? fs.readdirSync(`/proc/${sidecar.process.pid}/fd`).length : 0
const before = descriptors()

test.runIf(process.platform === 'linux').each(['closes', 'half-closes', 'resets'])('it %s', async (how) => {
  const lines = sidecar.logs.length
  const clients = await Promise.all(Array.from({ length: 20 }, () => connect()))
  await until(() => descriptors() >= before + 20, 'the sockets')
  for (const client of clients) {
    if (how === 'closes') client.close()
    else if (how === 'resets') client.reset()
    else client.socket.end()
  }
  // Room for a connection to the resource.
  await until(() => descriptors() <= before + 2, 'the end of the sockets')
  expect((await send(claim('K', 1))).status).toBe(200)
  expect(sidecar.logs.slice(lines)).toEqual([])
  for (const client of clients) client.close()
})
