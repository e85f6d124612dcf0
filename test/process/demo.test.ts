/**
 * `fencegate demo` as a user runs it: what it shows, what its exit code means, and what it leaves behind.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Answer, LedgerWrite, Writer } from '../../src/demo/story.ts'
import { Timeline, type TimelineEvent, wantsColour } from '../../src/demo/timeline.ts'
import { type Evidence, judge, type Verdict } from '../../src/demo/verdict.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fencegate-demo-test-'))
})
afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

describe('the demo, with real processes', () => {
  test('shows the damage without the sidecar and one export with it', async () => {
    const { exitCode, stdout, stderr } = await finish(startDemo('--json'))
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })

    const document = JSON.parse(stdout) as Document
    expect(document.ok).toBe(true)
    expect(document.elapsedMs).toBeGreaterThan(0)
    expect(document.verdicts.unfenced).toMatchObject({ ok: true, faults: [] })
    expect(document.verdicts.fenced).toMatchObject({ ok: true, faults: [] })

    const unfenced = eventsOf(document, 'unfenced')
    expect(writersOf(unfenced)).toEqual(expect.arrayContaining(['A', 'B']))
    expect(lateAnswers(unfenced)[0]).toMatchObject({ batch: 3, token: 1, status: 200 })

    const fenced = eventsOf(document, 'fenced')
    expect(writersOf(fenced)).toEqual(['B', 'B', 'B', 'B'])
    expect(lateAnswers(fenced)).toEqual([
      expect.objectContaining({ batch: 3, token: 1, status: 412, code: 'stale-token', retry: 'never' }),
    ])
    expect(fenced.filter(({ actor, event }) => actor === 'A' && event === 'done')).toEqual([
      expect.objectContaining({ ending: 'told-to-stop' }),
    ])
    // B's writes go out while A is stopped, and A's late one on the connection that it had before.
    for (const events of [unfenced, fenced]) {
      const story = events.map(({ actor, event }) => `${actor} ${event}`)
      const [stopped, ended, done, continued] = [
        'A stopped',
        'authority lease-ended',
        'B done',
        'A continued',
      ].map((step) => story.indexOf(step))
      expect(stopped).toBeGreaterThan(0)
      expect([stopped, ended, done, continued]).toEqual([stopped, ended, done, continued].toSorted(byNumber))
      expect(events.find(({ event }) => event === 'continued')).toMatchObject({ clockStepMs: 420 })
      expect(new Set(answersOf(events, 'A').map(({ port }) => port)).size).toBe(1)
    }

    const pids = document.events.flatMap(({ pid }) => (typeof pid === 'number' ? [pid] : []))
    expect(new Set(pids).size).toBe(9)
    expect(pids.filter(isAlive)).toEqual([])
    expect(readdirSync(directory)).toEqual([])
  })

  test('prints a timeline of at most 100 columns, without escape codes where it is no terminal', async () => {
    const { exitCode, stdout, stderr } = await finish(startDemo())
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).not.toContain('\u001b')
    expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([])
    expect(stdout).toContain('TWO CONFLICTING EXPORTS')
    expect(stdout).toContain('ONE CANONICAL EXPORT')
  })

  test('ends every process, the stopped one too, on Ctrl-C', async () => {
    const demo = startDemo()
    const result = finish(demo)
    const stopped = await lineWith(demo, 'SIGSTOP to process')
    demo.kill('SIGINT')
    const { exitCode, stdout, stderr } = await result
    expect(exitCode).toBe(130)
    expect(stderr).toContain('SIGINT')
    const pids = [...stdout.matchAll(/process (\d+)/g)].map((match) => Number(match[1]))
    expect(pids).toContain(Number(/process (\d+)/.exec(stopped)?.[1]))
    expect(pids.filter(isAlive)).toEqual([])
    expect(readdirSync(directory)).toEqual([])
  })

  test('fails, and leaves nothing behind, when its reader leaves', async () => {
    const demo = startDemo()
    const result = finish(demo)
    const stopped = await lineWith(demo, 'SIGSTOP to process')
    demo.stdout?.destroy()
    expect((await result).exitCode).toBe(1)
    expect(isAlive(Number(/process (\d+)/.exec(stopped)?.[1]))).toBe(false)
    expect(readdirSync(directory)).toEqual([])
  })
})

describe('the verdict', () => {
  const before = [write('A', 1), write('A', 2)]
  const takeover = [1, 2, 3, 4].map((batch) => write('B', batch))
  const refusal: Answer = { batch: 3, token: 1, leftMs: 400, status: 412, code: 'stale-token', port: 7000 }
  const fenced = evidence({
    fenced: true,
    writes: [...before, ...takeover],
    late: [refusal],
    ending: 'told-to-stop',
  })
  const accepted: Answer = { batch: 3, token: 1, leftMs: 400, status: 200, port: 7000 }
  const unfenced = evidence({
    fenced: false,
    writes: [...before, ...takeover, write('A', 3)],
    late: [accepted],
    ending: 'completed',
  })

  test('passes what the story demands', () => {
    expect(judge(fenced)).toMatchObject({ ok: true, faults: [] })
    expect(judge(unfenced)).toMatchObject({ ok: true, faults: [] })
  })

  test.each<[string, Evidence, RegExp]>([
    [
      'a fence that let a write through, though A was refused',
      { ...fenced, ...ledger([...before, ...takeover, write('A', 3)]) },
      /fence let A's batch 3 through/,
    ],
    [
      'a late write that B then wrote over',
      { ...fenced, ...ledger([...before, ...takeover.slice(0, 3), write('A', 4), write('B', 4)]) },
      /fence let A's batch 4 through/,
    ],
    ['an accepted late write', { ...fenced, late: [accepted] }, /got 200 where 412/],
    ['a 412 of the ledger itself', { ...fenced, late: [{ ...refusal, code: undefined }] }, /got 412 where/],
    ['a worker that went on', { ...fenced, late: [refusal, refusal] }, /not stopped by its first refusal/],
    ['a worker that stopped by itself', { ...fenced, ending: 'lease-over' }, /not stopped by its first/],
    ['a new connection', { ...fenced, late: [{ ...refusal, port: 7001 }] }, /new connection/],
    ['no late write at all', { ...fenced, late: [] }, /wrote nothing after/],
    ['an unfinished takeover', { ...fenced, ...ledger([...before, ...takeover.slice(1)]) }, /3 of B's 4/],
    ['tokens that do not rise', { ...fenced, tokens: { A: 2, B: 2 } }, /not above/],
    [
      'an unfenced run without damage',
      { ...unfenced, ...ledger([...before, ...takeover]) },
      /nothing is proved/,
    ],
  ])('fails %s', (_, doctored, fault) => {
    const verdict = judge(doctored)
    expect(verdict.ok).toBe(false)
    expect(verdict.text).toMatch(fault)
  })

  function evidence(
    from: Pick<Evidence, 'fenced' | 'late' | 'ending'> & { writes: LedgerWrite[] },
  ): Evidence {
    const { writes, ...rest } = from
    return { ...rest, ...ledger(writes), tokens: { A: 1, B: 2 }, portBefore: 7000 }
  }
})

describe('colour', () => {
  test('only on a terminal whose user did not ask for none', () => {
    expect(wantsColour({ isTTY: true }, {})).toBe(true)
    expect(wantsColour({ isTTY: true }, { NO_COLOR: '1' })).toBe(false)
    expect(wantsColour({ isTTY: false }, { FORCE_COLOR: '1' })).toBe(false)
    expect(wantsColour({}, {})).toBe(false)
  })

  test('is put around the text and never counted as its width', () => {
    const lines: string[] = []
    const timeline = new Timeline((line) => lines.push(line), true)
    timeline.add({ actor: 'A', event: 'x', text: `${'word '.repeat(30)}end`, tone: 'bad' })
    expect(lines.length).toBe(2)
    for (const line of lines) {
      expect(line).toContain('\u001b[31m')
      expect(line.split('\u001b[31m').join('').split('\u001b[39m').join('').length).toBeLessThanOrEqual(100)
    }
  })
})

interface Document {
  readonly ok: boolean
  readonly elapsedMs: number
  readonly verdicts: { readonly unfenced?: Verdict; readonly fenced?: Verdict }
  readonly events: readonly TimelineEvent[]
}

function startDemo(...args: string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, 'demo', ...args], {
    env: {
      ...process.env,
      // Where what it leaves behind is looked for.
      TMPDIR: directory,
      // A setting for another sidecar, which must not reach the demo's.
      FENCEGATE_UPSTREAM: 'http://127.0.0.1:1',
      FORCE_COLOR: '1',
      NO_COLOR: undefined,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function finish(demo: ChildProcess): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  let stdout = ''
  let stderr = ''
  demo.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  demo.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [exitCode] = await once(demo, 'close')
  return { exitCode, stdout, stderr }
}

/** The first line of its output with that text; fails if the demo ends without. */
async function lineWith(demo: ChildProcess, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    demo.stdout?.on('data', (chunk: string) => {
      output += chunk
      const line = output.split('\n').find((candidate) => candidate.includes(text))
      if (line !== undefined) resolve(line)
    })
    demo.once('close', () => reject(new Error(`the demo ended without '${text}':\n${output}`)))
  })
}

function eventsOf({ events }: Document, run: string): TimelineEvent[] {
  return events.filter((event) => event.run === run)
}

function answersOf(events: TimelineEvent[], actor: Writer): Answer[] {
  return events.filter((e) => e.actor === actor && e.event === 'answered') as unknown as Answer[]
}

function lateAnswers(events: TimelineEvent[]): Answer[] {
  return answersOf(
    events.filter(({ late }) => late === true),
    'A',
  )
}

/** Whose the batches of the export are, as the ledger has it at the end of a run. */
function writersOf(events: TimelineEvent[]): Writer[] {
  const state = events.find(({ actor, event }) => actor === 'ledger' && event === 'state')
  const batches = (state?.export ?? []) as LedgerWrite[]
  return batches.map(({ writer }) => writer)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function byNumber(a: number | undefined, b: number | undefined): number {
  return (a ?? 0) - (b ?? 0)
}

function write(writer: Writer, batch: number): LedgerWrite {
  return { writer, batch, cents: 100, port: 1 }
}

/** The ledger's state after these writes, as the ledger works it out. */
function ledger(writes: LedgerWrite[]): Pick<Evidence, 'ledger'> {
  return { ledger: { writes, export: [...new Map(writes.map((entry) => [entry.batch, entry])).values()] } }
}
