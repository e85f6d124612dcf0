/** A store whose files are gone or replaced keeps no promise: no raise succeeds in it, and the process ends. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { exchange } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'

const { upstream } = await scene()

const replace = (name: string) => (data: string) => {
  const file = path.join(data, name)
  fs.copyFileSync(file, `${file}.copy`)
  fs.renameSync(`${file}.copy`, file)
}

test.each<[string, (data: string) => void]>([
  ['the directory is removed', (data) => fs.rmSync(data, { recursive: true })],
  ['the directory is moved away', (data) => fs.renameSync(data, `${data}-moved`)],
  ['marks.db is removed', (data) => fs.rmSync(path.join(data, 'marks.db'))],
  ['marks.db is replaced', replace('marks.db')],
  ['lock.db is removed', (data) => fs.rmSync(path.join(data, 'lock.db'))],
  ['lock.db is replaced', replace('lock.db')],
])('%s: the next raise is refused, and the end is 69', async (_, spoil) => {
  const sidecar = await Sidecar.start({ upstream: upstream.url })
  expect((await exchange(sidecar.port, claim('K', 1))).status).toBe(200)
  spoil(sidecar.data)
  upstream.forget()
  const status = await exchange(sidecar.port, claim('K', 2)).then(
    (answer) => answer.status,
    () => undefined,
  )
  if (status !== undefined) expect(status).toBe(503)
  expect(upstream.requests).toEqual([])
  expect(await sidecar.process.exitCode()).toBe(69)
  fs.rmSync(`${sidecar.data}-moved`, { recursive: true, force: true })
})
