/**
 * `fencegate demo`: the incident, replayed with real processes; first without the sidecar, then with it.
 *
 * Whatever happens (a fault, Ctrl-C, a closed terminal or pipe, the time limit), every process that was
 * started is ended and the temporary directory is removed before the promise resolves.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Interruption, watchForInterruption } from './interruption.ts'
import { Processes } from './processes.ts'
import { play } from './scenario.ts'
import { setStage } from './stage.ts'
import { CLOCK_STEP_MS, LEASE_TTL_MS } from './story.ts'
import { Timeline, wantsColour } from './timeline.ts'
import { judge, type Verdict } from './verdict.ts'

/** It takes some seconds; a machine so busy that this runs out shows nothing. */
const TIME_LIMIT_MS = 60_000

type Run = 'unfenced' | 'fenced'
type Verdicts = Partial<Record<Run, Verdict>>

const RUNS: readonly Run[] = ['unfenced', 'fenced']
const HEADINGS = {
  unfenced: '1. WITHOUT the sidecar: the workers write straight to the ledger',
  fenced: '2. WITH the sidecar between the workers and the ledger',
}

/** @returns the exit code: 0 only if the unfenced run showed the damage and the fenced one let nothing through. */
export async function runDemo({ json }: { json: boolean }): Promise<number> {
  const print = (line: string) => process.stdout.write(`${line}\n`)
  const timeline = new Timeline(json ? undefined : print, wantsColour(process.stdout, process.env))
  const verdicts: Verdicts = {}
  introduce(timeline)
  const error = await perform(timeline, verdicts)
  const ok = error === undefined && RUNS.every((run) => verdicts[run]?.ok)
  if (json) {
    const { elapsedMs, events } = timeline
    print(JSON.stringify({ ok, elapsedMs, verdicts, events, error: error?.message }, null, 2))
  } else if (error) {
    process.stderr.write(`The demo was not played to its end: ${error.message}\n`)
  } else {
    conclude(timeline, verdicts, ok)
  }
  if (error instanceof Interruption) return error.exitCode
  return ok ? 0 : 1
}

/** Plays both runs, and cleans up. @returns what ended them early, if anything did. */
async function perform(timeline: Timeline, verdicts: Verdicts): Promise<Error | undefined> {
  if (process.platform === 'win32')
    return new Error('Windows has no SIGSTOP; run it on Linux or macOS, or in WSL')
  const directory = mkdtempSync(join(tmpdir(), 'fencegate-demo-'))
  const processes = new Processes()
  const interruptions = watchForInterruption(TIME_LIMIT_MS)
  const removeDirectory = () => rmSync(directory, { recursive: true, force: true })
  process.on('exit', removeDirectory)
  let fault: unknown
  try {
    await Promise.race([interruptions.first, playAll(timeline, verdicts, processes, directory)])
  } catch (error) {
    fault = error
  } finally {
    await processes.endAll()
    removeDirectory()
    process.off('exit', removeDirectory)
    interruptions.end()
  }
  const cause = interruptions.received() ?? fault
  return cause === undefined || cause instanceof Error ? cause : new Error(String(cause))
}

async function playAll(timeline: Timeline, verdicts: Verdicts, processes: Processes, directory: string) {
  for (const run of RUNS) {
    timeline.begin(run, HEADINGS[run])
    const ownDirectory = join(directory, run)
    mkdirSync(ownDirectory)
    const stage = await setStage(processes, ownDirectory, run === 'fenced')
    const verdict = judge(await play(timeline, stage))
    verdicts[run] = verdict
    const tone = verdict.ok && run === 'fenced' ? 'good' : 'bad'
    timeline.add({ actor: 'demo', event: 'verdict', text: verdict.text, tone, facts: { ok: verdict.ok } })
  }
}

function introduce(timeline: Timeline): void {
  timeline.say('fencegate demo: a worker is paused, loses its lease, and writes all the same', 'strong')
  timeline.say(
    `Each part is a process of its own. A lease of ${LEASE_TTL_MS / 1000} s stands in for the incident's, which ` +
      `ended during a pause of 38 s; worker A's wall clock is set back by the incident's ${CLOCK_STEP_MS} ms.`,
  )
}

function conclude(timeline: Timeline, verdicts: Verdicts, ok: boolean): void {
  timeline.say('')
  timeline.say('VERDICT', 'strong')
  timeline.say(`Without the sidecar: ${verdicts.unfenced?.text}`)
  timeline.say(`With the sidecar: ${verdicts.fenced?.text}`)
  const seconds = (timeline.elapsedMs / 1000).toFixed(1)
  if (ok) timeline.say(`The demo shows what it should, in ${seconds} s.`, 'good')
  else timeline.say(`THE DEMO FAILED, after ${seconds} s.`, 'bad')
}
