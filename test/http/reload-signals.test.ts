/** SIGHUP at odd moments: with no file to read, while the process starts, and while it stops. */

import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { exchange } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { SidecarProcess, serve, settings, temporaryDirectory } from '../support/sidecar.ts'

const { sidecar, upstream } = await scene({
  shutdown: { delay: '500ms', deadline: '10s' },
  reloadInterval: '20ms',
})
const IN_FORCE = 'a new configuration is in force'

test('while it starts: it goes on, and then reads what was written meanwhile', async () => {
  // The store is held by the other one, so that the start waits.
  const file = path.join(temporaryDirectory(), 'fencegate.yaml')
  const config = (name: string) =>
    settings(upstream.url, sidecar.data, {
      routes: [{ name }],
      store: { lockWait: '30s' },
      reloadInterval: '0s',
    })
  const next = serve(config('first'), {}, file)
  await next.log(({ level }) => level === 40, 'its first line')
  fs.writeFileSync(file, stringify(config('second')))
  next.signal('SIGHUP')

  // While it stops: nothing is read any more, however a change is told.
  sidecar.process.signal('SIGTERM')
  await sidecar.process.log(({ msg }) => msg === 'stopping', 'the stop')
  sidecar.configure({ revealHighest: false })
  sidecar.process.signal('SIGHUP')
  expect((await exchange(sidecar.port, claim('K', 1))).status).toBe(200)
  expect(await sidecar.process.exitCode()).toBe(0)
  expect(sidecar.reloads).toEqual([])
  expect(sidecar.logs.at(-1)).toMatchObject({ msg: 'stopped', clean: true })

  const listening = await next.log(({ msg }) => msg === 'listening', 'the line "listening"')
  expect(listening.routes).toEqual([expect.stringContaining('first'), expect.anything()])
  expect((await next.log(({ cause }) => cause === 'SIGHUP', 'the reload')).msg).toBe(IN_FORCE)
  next.signal('SIGTERM')
  expect(await next.exitCode()).toBe(0)
})

test('without a file there is nothing new, and it goes on', async () => {
  const args = ['--upstream', upstream.url, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const plain = new SidecarProcess([...args, '--data', temporaryDirectory()])
  await plain.log(({ msg }) => msg === 'listening', 'the line "listening"')
  plain.signal('SIGHUP')
  const line = await plain.log(({ cause }) => cause === 'SIGHUP', 'the reload')
  expect(line.msg).toBe('the configuration is the one in force')
  plain.signal('SIGTERM')
  expect(await plain.exitCode()).toBe(0)
})
