/**
 * The torture: episodes of a few rounds each, every round planned by the seed, every history checked as soon as it
 * is complete. It ends at the first violation, and keeps that episode's directory.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { check, type History, type Violation } from '../support/history.ts'
import { now } from '../support/history-log.ts'
import { Clocks } from './clocks.ts'
import { Episode, WORKERS } from './episode.ts'
import type { Variant } from './limits.ts'
import { endAll } from './processes.ts'
import { randomFor } from './random.ts'
import { CLOCK_OFFSETS_MS, planRound, type Step } from './schedule.ts'

const VARIANTS: readonly Variant[] = ['mixed', 'intents']

export interface TortureOptions {
  readonly seed: number
  /** Ends after so many rounds, or at the first round's end after `minutes`. */
  readonly rounds?: number | undefined
  readonly minutes?: number | undefined
  /** Rounds until new processes on an empty store take over. */
  readonly roundsPerEpisode?: number | undefined
  /** Steps wall clocks by libfaketime. */
  readonly faketime?: boolean | undefined
  /** The program's file; `src/main.ts` unless a broken build is tried. */
  readonly main?: string | undefined
  readonly say?: ((line: string) => void) | undefined
}

export interface Tally {
  rounds: number
  requests: number
  writesSeen: number
  stale: number
  unknown: number
  sidecarKills: number
  sidecarRestarts: number
  workerKills: number
}

export interface TortureResult {
  readonly tally: Tally
  /** Undefined if nothing is wrong; else all that is needed to look into it. */
  readonly failure: string | undefined
}

const MAIN = path.join(import.meta.dirname, '../../src/main.ts')

export async function torture(options: TortureOptions): Promise<TortureResult> {
  try {
    return await run(options)
  } finally {
    await endAll()
  }
}

async function run(options: TortureOptions): Promise<TortureResult> {
  const {
    seed,
    roundsPerEpisode = 5,
    rounds = Number.POSITIVE_INFINITY,
    minutes = Number.POSITIVE_INFINITY,
  } = options
  const deadline = now() + minutes * 60_000
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-torture-'))
  const clocks = options.faketime ? new Clocks(root) : undefined
  await clocks?.prove(CLOCK_OFFSETS_MS)
  const total: Tally = {
    rounds: 0,
    requests: 0,
    writesSeen: 0,
    stale: 0,
    unknown: 0,
    sidecarKills: 0,
    sidecarRestarts: 0,
    workerKills: 0,
  }
  for (let number = 0; total.rounds < rounds && now() < deadline; number++) {
    const directory = path.join(root, `episode-${number}`)
    const variant = VARIANTS[number % VARIANTS.length] as Variant
    const random = randomFor(seed, `episode ${number}`)
    const main = options.main ?? MAIN
    const episode = await Episode.start({
      seed: Math.floor(random() * 2 ** 32),
      variant,
      directory,
      main,
      clocks,
    })
    const plans: Step[][] = []
    let failure: string | undefined
    try {
      while (!failure && plans.length < roundsPerEpisode && total.rounds < rounds && now() < deadline) {
        plans.push(planRound(random, WORKERS, clocks !== undefined))
        total.rounds++
        const found = await playRound(episode, plans.at(-1) as Step[])
        if (found) failure = describe(found, { seed, number, variant, directory, plans })
        options.say?.(
          `seed ${seed}: round ${total.rounds}, episode ${number} (${variant}): ${found ? 'FAILED' : 'ok'}`,
        )
      }
    } finally {
      await episode.close()
    }
    add(total, episode)
    if (failure) return { tally: total, failure }
    fs.rmSync(directory, { recursive: true, force: true })
  }
  fs.rmSync(root, { recursive: true, force: true })
  return { tally: total, failure: undefined }
}

/** What is wrong after the round. */
async function playRound(episode: Episode, steps: readonly Step[]): Promise<Violation[] | undefined> {
  const wrong = (rule: string, messages: readonly string[]) =>
    messages.map((message): Violation => ({ rule, message, ids: [] }))
  let unrest: string[] = []
  try {
    await episode.round(steps)
    await episode.rest()
  } catch (error) {
    unrest = [(error as Error).message]
    // The rules take a history for complete: what is on record is part of it.
    await episode.operator.list()
  }
  const found = [
    ...wrong('comes to rest', unrest),
    ...check(episode.history()),
    ...wrong('stays alive', episode.sidecar.crashes),
    ...wrong('clocks', episode.faults),
  ]
  return found.length > 0 ? found : undefined
}

interface Circumstances {
  readonly seed: number
  readonly number: number
  readonly variant: Variant
  readonly directory: string
  readonly plans: readonly Step[][]
}

const SHOWN = 20

function describe(
  found: readonly Violation[],
  { seed, number, variant, directory, plans }: Circumstances,
): string {
  const shown = found
    .slice(0, SHOWN)
    .map(({ rule, message, ids }) => `  [${rule}] ${message} ${ids.join(' ')}`)
  const rounds = plans.map(
    (steps, round) =>
      `  round ${round + 1}:\n${steps.map(({ atMs, action }) => `    ${atMs} ms ${JSON.stringify(action)}`).join('\n')}`,
  )
  return [
    `seed ${seed}, episode ${number} (${variant}), round ${plans.length} of it: ${found.length} violations`,
    ...shown,
    'schedule:',
    ...rounds,
    `logs and store: ${directory}`,
  ].join('\n')
}

function add(total: Tally, episode: Episode): void {
  const { asked, seen, stops }: History = episode.history()
  const refused = (accept: (code: string, sent: string) => boolean) =>
    asked.filter(({ told }) => told.kind === 'refusal' && accept(told.code, told.sent)).length
  total.requests += asked.length
  total.writesSeen += seen.length
  total.stale += refused((code) => code === 'stale-token')
  total.unknown += refused((_, sent) => sent === 'unknown')
  total.sidecarKills += stops.filter(({ how }) => how === 'killed').length
  total.sidecarRestarts += stops.filter(({ how }) => how !== 'killed').length
  total.workerKills += episode.workerKills
}
