/** The watch over the configuration's files, on real files and a clock that the test moves. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError, loadConfig } from '../../src/config/load.ts'
import { FileWatch } from '../../src/config/watch.ts'
import { ConfigDirectory } from '../support/config-file.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { until } from '../support/wait.ts'

const INTERVAL_MS = 1000
const directory = new ConfigDirectory()
const YAML = 'upstream: { url: "https://a", auth: { file: credential }, tls: { ca: ca.pem } }\n'

/** Each test's files are its own. */
function scene(intervalMs = INTERVAL_MS) {
  directory.write('credential', 'one')
  directory.write('ca.pem', directory.read('server-ca.pem'))
  const clock = new VirtualClock()
  const told: number[] = []
  const watch = new FileWatch({ intervalMs, clock, changed: () => told.push(clock.now()) })
  onTestFinished(() => watch.close())
  watch.watch(directory.load(YAML).stamps)
  return {
    clock,
    told,
    watch,
    /** The next look, to its end: the timer of the one after it is then set. */
    async look(): Promise<void> {
      await clock.advance(intervalMs)
      await until(() => clock.pending === 1, 'the end of a look')
    },
  }
}

test('a change is told once, after two looks saw the same', async () => {
  const { look, told } = scene()
  await look()
  directory.write('credential', 'second')
  await look()
  expect(told).toEqual([])
  await look()
  expect(told).toEqual([3 * INTERVAL_MS])
  for (let i = 0; i < 3; i++) await look()
  expect(told).toHaveLength(1)
})

test('a file that is still being written is left alone', async () => {
  const { look, told } = scene()
  for (const content of ['1', '12', '123', '1234']) {
    directory.write('credential', content)
    await look()
    expect(told).toEqual([])
  }
  await look()
  expect(told).toHaveLength(1)
})

test('every file counts: the YAML, and what is put in another’s place', async () => {
  const { look, told } = scene()
  for (const name of ['fencegate.yaml', 'ca.pem', 'credential']) {
    const next = path.join(directory.path, 'next')
    fs.copyFileSync(path.join(directory.path, name), next)
    fs.renameSync(next, path.join(directory.path, name))
    await look()
    await look()
    expect(told).toHaveLength(['fencegate.yaml', 'ca.pem', 'credential'].indexOf(name) + 1)
  }
})

test('a file that is gone is a change, and so is its return', async () => {
  const { look, told } = scene()
  fs.rmSync(path.join(directory.path, 'credential'))
  await look()
  directory.write('credential', 'three')
  await look()
  expect(told).toEqual([])
  await look()
  expect(told).toHaveLength(1)
  fs.rmSync(path.join(directory.path, 'credential'))
  await look()
  await look()
  expect(told).toHaveLength(2)
})

test('a symbolic link on the way that is turned over is a change, unless it is turned back', async () => {
  for (const version of ['v1', 'v2']) {
    fs.mkdirSync(path.join(directory.path, version))
    directory.write(`${version}/credential`, 'same')
  }
  const link = path.join(directory.path, 'current')
  const turnTo = (version: string) => {
    fs.symlinkSync(version, `${link}-next`)
    fs.renameSync(`${link}-next`, link)
  }
  turnTo('v1')
  const { look, told, watch } = scene()
  watch.watch(directory.load(YAML.replace('credential', 'current/credential')).stamps)
  for (const version of ['v2', 'v1', 'v2']) {
    turnTo(version)
    await look()
    expect(told).toEqual([])
  }
  await look()
  expect(told).toHaveLength(1)
})

test('what changed between reading and watching is noticed', async () => {
  const { look, told, watch } = scene()
  const { stamps } = directory.load(YAML)
  directory.write('credential', 'changed since')
  watch.watch(stamps)
  await look()
  await look()
  expect(told).toHaveLength(1)
})

test('a configuration with faults says what it was read from, so that the mending of any file is noticed', async () => {
  const { look, told, watch } = scene()
  const yaml = YAML.replace('ca.pem', 'later.pem')
  try {
    directory.load(yaml)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    watch.watch((error as ConfigError).stamps)
  }
  await look()
  expect(told).toEqual([])
  directory.write('later.pem', directory.read('server-ca.pem'))
  await look()
  await look()
  expect(told).toHaveLength(1)
  expect(loadConfig({ file: directory.file, env: {}, flags: {} }).config.upstream.tls.ca).toContain('BEGIN')
})

test('a look that began before the files were read anew counts for nothing', async () => {
  const { look, told, watch, clock } = scene()
  const { stamps } = directory.load(YAML)
  directory.write('credential', 'second')
  clock.pause(INTERVAL_MS)
  expect(clock.pending).toBe(0)
  watch.watch(stamps)
  await look()
  expect(told).toEqual([])
  await look()
  expect(told).toHaveLength(1)
})

test('closed in the middle of a look, it tells nothing more and sets no timer', async () => {
  const { look, told, watch, clock } = scene()
  directory.write('credential', 'second')
  await look()
  clock.pause(INTERVAL_MS)
  watch.close()
  // As many turns as a look takes, several times over.
  for (let i = 0; i < 5; i++) await fs.promises.stat(directory.file)
  await clock.advance(10 * INTERVAL_MS)
  expect([told, clock.pending]).toEqual([[], 0])
  watch.watch(directory.load(YAML).stamps)
  expect(clock.pending).toBe(0)
})

test('an interval of 0 is never', async () => {
  const { clock } = scene(0)
  expect(clock.pending).toBe(0)
})

test('by default it looks by itself, and keeps no process alive', async () => {
  directory.write('credential', 'one')
  const { promise, resolve } = Promise.withResolvers<void>()
  const watch = new FileWatch({ intervalMs: 5, changed: resolve })
  onTestFinished(() => watch.close())
  const { stamps } = directory.load(YAML)
  const before = process.getActiveResourcesInfo()
  watch.watch(stamps)
  expect(process.getActiveResourcesInfo()).toEqual(before)
  directory.write('credential', 'second')
  await promise
})
