/** What reconciling a large task costs: the time and memory of the command, and what writes notice of it meanwhile. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { STORE_FILE } from '../../src/store/schema.ts'
import { initStore } from '../../src/store/store-file.ts'
import { BenchProcess, startServer, startSidecar } from './processes.ts'
import { median, type Scale, type Section, twoDigits } from './report.ts'

const TASK = 'settlement'

export async function reconciling(scale: Scale): Promise<Section> {
  const attempts = scale.quick ? 50_000 : 1_000_000
  const directory = fs.mkdtempSync(path.join(scale.directory, 'reconcile-'))
  const data = path.join(directory, 'data')
  fill(data, attempts)
  const upstream = await startServer('upstream.ts')
  const sidecar = await startSidecar({ main: scale.main, upstreamPort: upstream.port, data })
  const exported = path.join(directory, 'export.csv')
  const commands = [
    { what: 'no command', args: undefined, output: '/dev/null' },
    { what: '--format table', args: ['--format', 'table'], output: '/dev/null' },
    { what: '--canonical --format csv', args: ['--canonical', '--format', 'csv'], output: exported },
    { what: '--check of that list', args: ['--check', exported], output: '/dev/null' },
  ]
  const rows: Section['rows'][number][] = []
  for (const { what, args, output } of commands) {
    const writes = writing(sidecar.port)
    const cpu = secondsOf(sidecar.process)
    const started = performance.now()
    const run = args
      ? command([scale.main, 'reconcile', '--task', TASK, '--data', data, ...args], output)
      : new Promise<Cost>((resolve) => setTimeout(resolve, 3000, { peakBytes: 0, cpuSeconds: 0 }))
    const { peakBytes, cpuSeconds } = await run
    const seconds = (performance.now() - started) / 1000
    const times = await writes.stop()
    rows.push({
      what,
      seconds: args ? twoDigits(seconds) : '',
      'attempts/s': args ? Math.round(attempts / seconds) : '',
      'CPU s': args ? cpuSeconds : '',
      'sidecar CPU s': args ? twoDigits(secondsOf(sidecar.process) - cpu) : '',
      'peak RSS MiB': args ? mebibytes(peakBytes) : '',
      'write ms': twoDigits(median(times)),
      'write p99 ms': twoDigits(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0),
      'sidecar RSS MiB': mebibytes(sidecar.process.residentBytes),
    })
  }
  await sidecar.process.end()
  await upstream.process.end()
  return {
    name: 'reconcile',
    title: `fencegate reconcile on a task with ${attempts} attempts of ${operationsOf(attempts)} operations`,
    rows,
    notes: [
      `the store is ${mebibytes(fs.statSync(path.join(data, STORE_FILE)).size)} MiB`,
      'write: one client raises another task with each write, one after the other, while the command runs',
    ],
  }
}

/** Every fifth operation was attempted twice. */
function operationsOf(attempts: number): number {
  return Math.floor((attempts * 5) / 6)
}

/** Every fifth operation has an unknown attempt with token 50, found not to be applied; all others a final answer. */
function fill(data: string, attempts: number): void {
  initStore(data, 0n, 1000)
  const db = new DatabaseSync(path.join(data, STORE_FILE))
  const operations = operationsOf(attempts)
  const numbers = 'WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)'
  try {
    db.prepare(
      `${numbers} INSERT INTO operations (seq, id, scope, task, key, fingerprint, provider_key, state, ever_unknown,
         first_at_ms, last_at_ms, key_until_ms, keep_until_ms, status, headers, body_kept)
       SELECT n, printf('%064x', n), 'payments', '${TASK}', printf('transfer-2026-11-29-%08d', n), printf('%064x', n),
         printf('transfer-2026-11-29-%08d', n), 'done', n % 5 = 0, 1.8e12 + n, 1.8e12 + n, 4e12, 4e12, 201, '[]', 'none' FROM n`,
    ).run(operations)
    const columns =
      'id, operation, task, token, holder, route, method, target, at_ms, outcome, status, final, reason, ended_at_ms, resolution'
    const id = (kind: string) => `printf('%08x-0000-4000-${kind}-%012x', n, n)`
    const attempt = `'POST', printf('/settlement/transfers/%d', n), 1.8e12 + n`
    db.prepare(
      `${numbers} INSERT INTO attempts (${columns})
       SELECT ${id('8000')}, n, '${TASK}', 50, 'worker-a', 'payments', ${attempt}, 'unknown', NULL, 0, 'timeout',
         1.8e12 + n, 'not-applied' FROM n WHERE n % 5 = 0`,
    ).run(operations)
    db.prepare(
      `${numbers} INSERT INTO attempts (${columns})
       SELECT ${id('9000')}, n, '${TASK}', 51, 'worker-b', 'payments', ${attempt}, 'answered', 201, 1, NULL, 1.8e12 + n,
         NULL FROM n`,
    ).run(operations)
  } finally {
    db.close()
  }
}

interface Cost {
  readonly peakBytes: number
  readonly cpuSeconds: number
}

/** Runs a command to its end; gives what it had used when it was last looked at. */
async function command(args: readonly string[], output: string): Promise<Cost> {
  const file = fs.openSync(output, 'w')
  const process_ = new BenchProcess(spawn(process.execPath, args, { stdio: ['ignore', file, 'ignore'] }))
  let cost: Cost = { peakBytes: 0, cpuSeconds: 0 }
  const look = setInterval(() => {
    const status = fs.readFileSync(`/proc/${process_.child.pid}/status`, 'utf8')
    const peakKiB = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]
    if (peakKiB) cost = { peakBytes: Number(peakKiB) * 1024, cpuSeconds: secondsOf(process_) }
  }, 20)
  try {
    const [code] = await once(process_.child, 'exit')
    if (code !== 0) throw new Error(`fencegate ${args.slice(1).join(' ')} ended with ${code}`)
    return cost
  } finally {
    clearInterval(look)
    fs.closeSync(file)
  }
}

function secondsOf({ cpu }: BenchProcess): number {
  return twoDigits(cpu.userSeconds + cpu.systemSeconds)
}

let lastToken = 0

/** Raises a task, one write after the other, until told to stop; gives how long each took, in milliseconds. */
function writing(port: number): { stop(): Promise<number[]> } {
  const times: number[] = []
  let stopped = false
  const run = async () => {
    while (!stopped) {
      const started = performance.now()
      const headers = { 'Fencing-Task': 'beside', 'Fencing-Token': String(++lastToken) }
      const response = await fetch(`http://127.0.0.1:${port}/x`, { method: 'PUT', headers, body: '{}' })
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`a write was answered ${response.status}`)
      times.push(performance.now() - started)
    }
    return times
  }
  const done = run()
  done.catch(() => {}) // Whoever stops it sees it.
  return {
    stop() {
      stopped = true
      return done
    },
  }
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
