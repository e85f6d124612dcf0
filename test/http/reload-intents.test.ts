/**
 * A crash after a reload: whether the next start waits out restartGrace follows from what could be sent before it, not
 * from the configuration that either process began with.
 */
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const all = (intent: string) => ({ routes: [{ name: 'all', intent }] })
const { sidecar } = await scene({
  ...all('durable'),
  restartGrace: '10m',
  handoverTimeout: '200ms',
  reloadInterval: '0s',
})

test('every write had its intent, before the reload and after: no grace; not every one: a grace', async () => {
  expect((await exchange(sidecar.port, claim('K', 1))).status).toBe(200)
  expect((await sidecar.reload({ revealHighest: false })).level).toBe(30)
  // One that is refused changes nothing of this either.
  expect((await sidecar.reload({ ...all('none'), drainLimit: '1s' })).level).toBe(50)
  await sidecar.kill()

  const second = await sidecar.restart()
  expect((await exchange(second.port, claim('K', 2))).status).toBe(200)
  expect((await second.reload(all('none'))).level).toBe(30)
  // Though the last of them has them all again.
  expect((await second.reload(all('durable'))).level).toBe(30)
  await second.kill()

  const third = await second.restart()
  const pending = refusal(await exchange(third.port, claim('K', 3)), 503, 'handover-pending')
  expect(pending.detail).toContain('restartGrace')
  await third.kill()
})
