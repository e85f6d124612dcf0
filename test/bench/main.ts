/**
 * `npm run bench -- [--quick] [--only NAME]... [--profile] [--json] [--dir DIRECTORY]`: what writes,
 * raises, tasks, restarts, large bodies and idle connections cost, measured here and now. Linux only, because it reads
 * /proc. What else the machine does moves every figure but the ratios.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { adminLists } from './admin.ts'
import { dashboards } from './dashboard.ts'
import { handovers } from './handover.ts'
import { idle } from './idle.ts'
import { memory } from './memory.ts'
import { onceWrites } from './once.ts'
import { build, endAll } from './processes.ts'
import { raises } from './raises.ts'
import { reconciling } from './reconcile.ts'
import { render, type Scale, type Section } from './report.ts'
import { restarts } from './restart.ts'
import { storeLife } from './store-life.ts'
import { upload } from './upload.ts'
import { fencedWrites, profileWrites } from './writes.ts'

const BENCHMARKS: Readonly<Record<string, (scale: Scale) => Promise<Section>>> = {
  writes: fencedWrites,
  once: onceWrites,
  raises,
  handovers,
  memory,
  reconcile: reconciling,
  upload,
  restart: restarts,
  idle,
  admin: adminLists,
  dashboard: dashboards,
  backup: storeLife,
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: Object.keys(BENCHMARKS) },
    profile: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    dir: { type: 'string', default: os.tmpdir() },
  },
})
const unknown = values.only.filter((name) => !(name in BENCHMARKS))
if (unknown.length > 0) {
  console.error(`bench: no benchmark ${unknown.join(', ')}. There are ${Object.keys(BENCHMARKS).join(', ')}.`)
  process.exit(64)
}

const directory = fs.mkdtempSync(path.join(values.dir, 'fencegate-bench-'))
const sections: Section[] = []

function report(section: Section): void {
  sections.push(section)
  if (!values.json) console.log(render(section))
}

try {
  const scale: Scale = { quick: values.quick, directory, main: build(directory) }
  const machine = {
    cpus: `${os.cpus().length} x ${os.cpus()[0]?.model.trim()}`,
    node: process.version,
    'load before': os.loadavg()[0]?.toFixed(1) ?? '',
  }
  report({ name: 'machine', title: 'Machine', rows: [machine], notes: [] })
  for (const name of values.only) report(await (BENCHMARKS[name] as (typeof BENCHMARKS)[string])(scale))
  if (values.profile) for (const section of await profileWrites(scale)) report(section)
  if (values.json) console.log(JSON.stringify(sections, null, 2))
} finally {
  await endAll()
  fs.rmSync(directory, { recursive: true, force: true })
}
