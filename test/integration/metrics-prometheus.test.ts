/** Prometheus itself reads the metrics: its checker finds no fault in the names, and a real server scrapes them. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { claim, scene } from '../support/scene.ts'
import { temporaryDirectory } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'
import { freePort, startServer } from './server-process.ts'

const { sidecar, send } = await scene({ routes: [{ name: 'ledger', match: { path: '/ledger/*' } }] })

test('promtool finds nothing to say about the names, the types and the help', async () => {
  await send(claim('t', 2))
  await send(claim('t', 1))
  const text = await (await sidecar.admin('/metrics')).text()
  const own = text.split('\n').filter((line) => /^(# (HELP|TYPE) )?fencegate_/.test(line))
  expect(own.length).toBeGreaterThan(100)
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: `${own.join('\n')}\n`,
    encoding: 'utf8',
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('a Prometheus server scrapes them, takes the exemplars, and has seen the first stale write', async () => {
  const directory = temporaryDirectory()
  const port = await freePort()
  const job = { job_name: 'fencegate', static_configs: [{ targets: [`127.0.0.1:${sidecar.adminPort}`] }] }
  fs.writeFileSync(
    path.join(directory, 'prometheus.yml'),
    stringify({ global: { scrape_interval: '200ms', scrape_timeout: '200ms' }, scrape_configs: [job] }),
  )
  const api = async (target: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${target}`).catch(() => undefined)
    return (await answer?.text()) ?? ''
  }
  const value = async (query: string) => {
    const answer = await api(`query?query=${encodeURIComponent(query)}`)
    return /"value":\[[\d.]+,"([^"]*)"\]/.exec(answer)?.[1]
  }
  await startServer(
    'prometheus',
    [
      `--config.file=${path.join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${path.join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    async () => (await value('up{job="fencegate"}')) === '1',
  )
  const stale = 'fencegate_stale_rejections_total{route="ledger"}'
  expect(await value(stale)).toBe('0')
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = ['traceparent', `00-${traceId}-00f067aa0ba902b7-01`] as const
  await send(claim('t', 1, { target: '/ledger/a', headers: [traceparent] }))
  await until(async () => Number(await value(`increase(${stale}[1m])`)) > 0, 'an increase from 0')
  const end = Date.now() / 1000 + 60
  expect(await api(`query_exemplars?query=${encodeURIComponent(stale)}&start=0&end=${end}`)).toContain(
    traceId,
  )
})
