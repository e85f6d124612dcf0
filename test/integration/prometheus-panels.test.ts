/**
 * Prometheus scrapes a sidecar under load, to which everything happens that people alert on. Then every name in the
 * rules and in the dashboard is one that was scraped, and every panel shows data.
 */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '../support/markdown.ts'
import { command } from '../support/operator.ts'
import { encode, RawClient } from '../support/raw-client.ts'
import { Held } from '../support/recording-upstream.ts'
import { claim, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'
import { ROOT, RULES_FILE, rules, selectorsOf } from './alert-rules.ts'
import { dashboard, panels, substituted } from './grafana-dashboard.ts'
import { PrometheusServer } from './prometheus-server.ts'

const match = (path: string) => ({ match: { path } })
const { sidecar, upstream, send } = await scene({
  handoverTimeout: '60s',
  routes: [
    { name: 'settlements', ...match('/settlements/*'), onUnknown: 'hold' },
    { name: 'trial', ...match('/trial/*'), mode: 'observe' },
    { name: 'payments', ...match('/payments/*'), guard: 'once', token: 'optional' },
  ],
})
/** So long is what the panels show. */
const SHOWN_SECONDS = 120
/** Nothing was dropped; a panel that shows 0 says so. */
const MAY_BE_ZERO = ['Journal entries dropped per minute']

/** A write that the resource keeps for a while; another one it loses. */
const slow = new Held()
upstream.script = async (exchange) => {
  const { target } = exchange.request
  if (target === '/settlements/slow') return slow.script(exchange)
  if (!(await exchange.wholeBody())) return
  if (target === '/settlements/lost') exchange.reset()
  else await exchange.answer()
}

let prometheus: PrometheusServer
let loaded: Promise<void>
const over = new AbortController()

beforeAll(async () => {
  prometheus = await PrometheusServer.start('fencegate', `127.0.0.1:${sidecar.adminPort}`, RULES_FILE)
  loaded = load()
  await prometheus.scraped(2)
  await incidents()
})

afterAll(async () => {
  over.abort()
  await loaded
})

/** A holder whose token rises now and then, until all is over. */
async function load(): Promise<void> {
  const client = await RawClient.connect(sidecar.port)
  for (let n = 0; !over.signal.aborted; n++) {
    await client.send(encode(claim('steady', 1 + Math.floor(n / 5), at('/settlements/steady'))))
    expect((await client.answer()).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  client.close()
}

const at = (target: string, headers: [string, string][] = []) => ({ target, headers })

/** What people alert on, once each. What lasts is scraped while it lasts. */
async function incidents(): Promise<void> {
  for (const route of ['settlements', 'trial']) {
    const target = at(`/${route}/1`)
    await send(claim(`${route}-1`, 9, target))
    expect((await send(claim(`${route}-1`, 8, target))).status).toBe(route === 'trial' ? 200 : 412)
  }
  const named = (holder: string) => at('/settlements/2', [['Fencing-Holder', holder]])
  await send(claim('settlements-2', 5, named('a')))
  expect((await send(claim('settlements-2', 5, named('b')))).status).toBe(409)
  const unclaimed = at('/payments/1', [
    ['Fencing-Task', 'payments-1'],
    ['Idempotency-Key', 'key-1'],
  ])
  expect((await send({ ...unclaimed, body: '{}' })).status).toBe(200)
  await unknownOutcome()
  await command(sidecar, 'freeze', 'settlements-1', '--reason', 'a test')
  await slowHandover()
  await prometheus.scraped(6)
}

async function unknownOutcome(): Promise<void> {
  expect((await send(claim('settlements-3', 5, at('/settlements/lost')))).status).toBe(502)
}

async function slowHandover(): Promise<void> {
  const first = send(claim('settlements-4', 5, at('/settlements/slow')))
  await slow.arrived
  const second = send(claim('settlements-4', 6, at('/settlements/next')))
  await until(async () => (await sidecar.metrics()).sum('fencegate_handovers_pending') === 1, 'a handover')
  await prometheus.scraped(3)
  slow.release()
  expect([(await first).status, (await second).status]).toEqual([200, 200])
}

const ALL: Readonly<Record<string, string>> = {
  __rate_interval: '10s',
  __range: `${SHOWN_SECONDS}s`,
  job: 'fencegate',
  instance: `127.0.0.1:${sidecar.adminPort}`,
  route: 'settlements|trial|payments|default|none',
}
const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => substituted(expr, ALL)))

test('every name and matcher in the rules and in the dashboard has a scraped series', async () => {
  const recorded = rules.flatMap(({ record = [] }) => record)
  const expressions = [...rules.map(({ expr }) => expr), ...queries]
  const missing: string[] = []
  for (const selector of new Set(expressions.flatMap(selectorsOf)))
    if (!(await prometheus.has(selector))) missing.push(selector)
  expect(missing).toEqual([])
  const derived = expressions.flatMap((expr) => expr.match(/\bfencegate:\w+/g) ?? [])
  expect(new Set(derived)).toEqual(new Set(recorded))
})

test('every rule is evaluated without a fault, and the alerts for what happened are there', async () => {
  const evaluated = await prometheus.rules()
  const faults = evaluated.filter(({ health }) => health !== 'ok')
  expect(faults).toEqual([])
  expect(evaluated).toHaveLength(rules.length)
  const states = evaluated.flatMap(({ name, alerts = [] }) => alerts.map(({ state }) => `${name} ${state}`))
  expect(states).toEqual(
    expect.arrayContaining([
      'FencegateObservedStaleWrites firing',
      'FencegateStaleRejections firing',
      'FencegateStoreCreated firing',
      'FencegateTokenConflicts firing',
      'FencegateUnknownOutcomes pending',
    ]),
  )
  expect(states).not.toContain('FencegateAbsent firing')
})

test('the queries of the runbooks are valid', async () => {
  const directory = path.join(ROOT, 'docs/runbooks')
  const pages = fs.readdirSync(directory).map((name) => fs.readFileSync(path.join(directory, name), 'utf8'))
  const asked = pages.flatMap((text) => readPage(text).fences.filter(({ language }) => language === 'promql'))
  const lines = asked.flatMap(({ text }) => text.trim().split('\n'))
  expect(lines.length).toBeGreaterThan(2)
  for (const line of lines) await prometheus.query(line)
})

test('every variable has values', async () => {
  const [source, ...others] = dashboard.templating.list
  expect(source).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' })
  for (const { name, query } of others) {
    const text = substituted(typeof query === 'string' ? query : query.query, ALL)
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(text) ?? []
    const values = await prometheus.labelValues(label, selector)
    expect(values, name).toEqual(
      expect.arrayContaining(name === 'route' ? ['settlements', 'trial'] : [ALL[name]]),
    )
  }
})

test.each(panels.map((panel) => [panel.title, panel] as const))(
  '%s shows data',
  async (title, { targets = [] }) => {
    expect(targets).not.toEqual([])
    for (const { expr } of targets) {
      const series = await prometheus.range(substituted(expr, ALL), SHOWN_SECONDS)
      const values = series.flatMap((each) => each.values).filter(Number.isFinite)
      expect(values, expr).not.toEqual([])
      if (!MAY_BE_ZERO.includes(title)) expect(Math.max(...values), expr).toBeGreaterThan(0)
    }
  },
)

test('the panels lie beside each other, ask the chosen data source, and say what they show', () => {
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24)
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  const chosen = { type: 'prometheus', uid: expect.stringMatching(/^\$\{datasource\}$/) }
  for (const { title, description, datasource, targets = [] } of panels) {
    expect([datasource, ...targets.map((target) => target.datasource)], title).toEqual([
      chosen,
      ...targets.map(() => chosen),
    ])
    expect(description, title).toMatch(/\.$/)
  }
})
