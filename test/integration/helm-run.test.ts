/**
 * The rendered containers, run as they stand: the program with their arguments and variables, and only the directories and
 * addresses changed for those of this machine.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { CHART, HELM_VERSIONS, Helm, type HelmVersion, only, VALUE_SETS } from '../support/helm.ts'
import { ROOT } from '../support/sources.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { within } from '../support/wait.ts'

const values = VALUE_SETS.find(({ name }) => name === 'standalone')?.file as string
const settings = ['config.shutdown.delay=0s', 'init.floor=41000']
const rendered = new Helm(HELM_VERSIONS[0] as HelmVersion).manifests(
  CHART,
  ...['--values', values],
  ...settings.flatMap((setting) => ['--set-string', setting]),
)

interface Container {
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value: string }[]
}

/** The arguments and the environment of a container, with what it mounts in a directory of this machine. */
function here({ args, env = [] }: Container, directory: string) {
  const moved = (text: string) =>
    text
      .replaceAll('/var/lib/fencegate', path.join(directory, 'volume'))
      .replaceAll('/etc/fencegate', path.join(directory, 'etc'))
      .replaceAll(/0\.0\.0\.0:\d+/g, '127.0.0.1:0')
  const config = path.join(directory, 'etc/config')
  fs.mkdirSync(config, { recursive: true })
  fs.writeFileSync(
    path.join(config, 'fencegate.yaml'),
    moved(only(rendered, 'ConfigMap').data['fencegate.yaml']),
  )
  return {
    args: [path.join(ROOT, 'src/main.ts'), ...args.map(moved)],
    options: { env: Object.fromEntries(env.map(({ name, value }) => [name, moved(value)])) },
  }
}

const containerOf = (kind: string): Container => only(rendered, kind).spec.template.spec.containers[0]

function run(kind: string, directory: string) {
  const { args, options } = here(containerOf(kind), directory)
  return spawnSync(process.execPath, args, { ...options, encoding: 'utf8', timeout: 60_000 })
}

it('the Job makes a store with its floor, and never puts another in its place', () => {
  const directory = temporaryDirectory()
  const first = run('Job', directory)
  expect(first).toMatchObject({ status: 0, stderr: '' })
  expect(first.stdout).toContain('Every task starts at 41000')
  const again = run('Job', directory)
  expect(again.status).toBe(69)
  expect(again.stderr).toContain('already holds a store. Nothing was changed')
})

it('the sidecar does not start without its store', () => {
  const { status, stderr } = run('StatefulSet', temporaryDirectory())
  expect(status).toBe(69)
  expect(stderr).toContain('there is no store in')
  expect(stderr).toContain('and store.create is "never"')
})

it('the sidecar starts with its store, answers its probes, and stops within the grace of the pod', async () => {
  const directory = temporaryDirectory()
  run('Job', directory)
  const container = containerOf('StatefulSet')
  const { args, options } = here(container, directory)
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const admin = await within(adminOf(child), 'the line "listening"', 30_000)
  const { startupProbe, livenessProbe, readinessProbe } = container as never as Record<
    string,
    { httpGet: { path: string } }
  >
  for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
    const { status } = await fetch(`http://${admin}${probe?.httpGet.path}`)
    expect([probe?.httpGet.path, status]).toEqual([probe?.httpGet.path, 200])
  }
  child.kill('SIGTERM')
  const seconds = only(rendered, 'StatefulSet').spec.template.spec.terminationGracePeriodSeconds
  expect(await within(ended, 'the end of the sidecar', seconds * 1000)).toBe(0)
})

function adminOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const { msg, admin } = JSON.parse(line)
      if (msg === 'listening') resolve(admin)
    })
  })
}
