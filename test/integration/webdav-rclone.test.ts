/** rclone, a WebDAV client that people use, through the sidecar to nginx. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../support/sidecar.ts'
import { within } from '../support/wait.ts'
import { webdavScene } from './webdav-scene.ts'

const { server, sidecar, decided } = await webdavScene()
const local = path.join(temporaryDirectory(), 'local.txt')
fs.writeFileSync(local, 'settled')

/** Runs rclone with a claim, or without one. */
async function rclone(token: number | undefined, args: readonly string[]) {
  const claim = token === undefined ? [] : ['Fencing-Task: files', `Fencing-Token: ${token}`]
  const child = spawn('rclone', [
    ...['--config', '/dev/null', '--webdav-url', `http://127.0.0.1:${sidecar.port}/open`],
    ...claim.flatMap((field) => ['--header', field]),
    ...args,
  ])
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  child.stdin.end()
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const code = await within(ended, `the end of rclone ${args.join(' ')}`, 30_000).finally(() =>
    child.kill('SIGKILL'),
  )
  return { code, output }
}

it('uploads, copies, moves and deletes with a current token; lists without one', async () => {
  for (const args of [
    ['mkdir', ':webdav:made'],
    ['copyto', local, ':webdav:one.txt'],
    ['copyto', ':webdav:one.txt', ':webdav:copy.txt'],
    ['moveto', ':webdav:one.txt', ':webdav:made/moved.txt'],
    ['deletefile', ':webdav:copy.txt'],
  ]) {
    expect(await rclone(9, args)).toEqual({ code: 0, output: '' })
  }
  const { contents } = server
  expect(contents).toMatchObject({ 'open/made/': '', 'open/made/moved.txt': 'settled' })
  expect(Object.keys(contents)).not.toContain('open/one.txt')
  expect(Object.keys(contents)).not.toContain('open/copy.txt')
  const listed = await rclone(undefined, ['lsf', '--recursive', ':webdav:'])
  expect(listed.output.split('\n').sort()).toEqual(['', 'made/', 'made/moved.txt'])
})

it.each([
  // After a failed upload rclone deletes what may have arrived of it: a write of its own, and refused too.
  { args: ['copyto', local, ':webdav:stale.txt'], refusals: 2 },
  { args: ['moveto', ':webdav:made/moved.txt', ':webdav:stale.txt'], refusals: 1 },
  { args: ['deletefile', ':webdav:made/moved.txt'], refusals: 1 },
])('refuses $args.0 with a stale token once, and rclone shows why', async ({ args, refusals }) => {
  const [before, contents] = [await decided('stale-token'), server.contents]
  const { code, output } = await rclone(8, ['--retries', '1', ...args])
  expect([code, output]).toEqual([1, expect.stringContaining('"code":"stale-token"')])
  expect(output).toContain('Stop this work')
  expect(output).toContain('412 Precondition Failed')
  expect(await decided('stale-token')).toBe(before + refusals)
  expect(server.contents).toEqual(contents)
})

it('refuses each of the retries that rclone makes of any failure unless told otherwise', async () => {
  const before = await decided('stale-token')
  const contents = server.contents
  expect((await rclone(8, ['deletefile', ':webdav:made/moved.txt'])).code).toBe(1)
  expect(server.contents).toEqual(contents)
  expect(await decided('stale-token')).toBe(before + 3)
})
