/** An upstream that is the sidecar itself would send requests round and round: the configuration is refused. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { fencegate } from '../support/operator.ts'
import { settings, temporaryDirectory } from '../support/sidecar.ts'

async function check(listen: string, admin: string, upstream: string) {
  const directory = temporaryDirectory()
  const file = path.join(directory, 'fencegate.yaml')
  fs.writeFileSync(file, stringify(settings(upstream, directory, { listen, admin: { listen: admin } })))
  return fencegate('check-config', '--config', file)
}

test.each([
  ['0.0.0.0:8470', 'http://127.0.0.1:8470'],
  ['0.0.0.0:8470', 'http://localhost:8470'],
  ['[::]:8470', 'http://127.0.0.1:8470'],
  ['[::]:8470', 'http://localhost:8470'],
  ['[::]:8470', 'http://[::1]:8470'],
  ['127.0.0.1:8470', 'http://localhost:8470'],
])('listen %s, upstream %s: 64', async (listen, upstream) => {
  const { code, stderr } = await check(listen, '127.0.0.1:8471', upstream)
  expect([code, stderr]).toEqual([64, expect.stringContaining('own data port')])
})

test.each([
  ['127.0.0.1:8471', 'http://127.0.0.1:8471'],
  ['0.0.0.0:8471', 'http://localhost:8471'],
])('admin.listen %s, upstream %s: 64', async (admin, upstream) => {
  const { code, stderr } = await check('127.0.0.1:8470', admin, upstream)
  expect([code, stderr]).toEqual([64, expect.stringContaining('own admin port')])
})

test('another port of this machine, and this port of another machine: 0', async () => {
  for (const upstream of ['http://127.0.0.1:9200', 'http://10.0.0.7:8470']) {
    const { code, stderr } = await check('0.0.0.0:8470', '127.0.0.1:8471', upstream)
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('own')])
  }
})
