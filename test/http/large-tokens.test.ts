/** CASES 15 and 17: marks are exact up to 2^63 - 1, outlive a restart, and never go down. */
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const { sidecar, send } = await scene()

test('one less than a mark is stale, before and after a restart', async () => {
  const marks = { big: 9007199254740993n, largest: 9223372036854775807n }
  for (const [task, mark] of Object.entries(marks)) expect((await send(claim(task, mark))).status).toBe(200)
  expect((await send(claim('lease', 500))).status).toBe(200)
  for (const restart of [false, true]) {
    let { port } = sidecar
    if (restart) {
      expect(await sidecar.stop()).toBe(0)
      port = (await sidecar.restart()).port
    }
    for (const [task, mark] of Object.entries(marks)) {
      const problem = refusal(await exchange(port, claim(task, mark - 1n)), 412, 'stale-token')
      expect(problem).toMatchObject({ token: String(mark - 1n), highest: String(mark) })
      expect((await exchange(port, claim(task, mark))).status).toBe(200)
    }
    // A lease service that starts again at 1 is behind the mark.
    expect(refusal(await exchange(port, claim('lease', 1)), 412, 'stale-token').highest).toBe('500')
    refusal(await exchange(port, claim('largest', '9223372036854775808')), 400, 'malformed-token')
  }
})
