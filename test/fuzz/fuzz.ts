/**
 * The fuzzer: batches of generated inputs against a real sidecar. At a violation it finds the input that causes it,
 * makes it small, and reports all that is needed to see it again.
 */
import { generate } from './generate.ts'
import { described, type Input } from './input.ts'
import type { Run, Violation } from './judge.ts'
import { shrink } from './shrink.ts'
import { type Numbered, type Outcome, Stage } from './stage.ts'
import { Tally } from './tally.ts'

const BATCH = 64
/** How often an input is tried alone before its violation is taken for one that needs company. */
const TRIES = 3
const SHRINK_MS = 10_000

export interface FuzzOptions {
  readonly seed: number
  /** Ends after so many inputs, or after the first batch that ends beyond `seconds`. */
  readonly inputs?: number | undefined
  readonly seconds?: number | undefined
  /** Number of the first input. */
  readonly first?: number | undefined
  /** Ends when so many rules are broken; 1 if it isn't given. */
  readonly violations?: number | undefined
  /** The program's file; `src/main.ts` unless another build is tried. */
  readonly main?: string | undefined
  readonly say?: ((line: string) => void) | undefined
}

export interface FuzzResult {
  readonly tally: Tally
  /** One for each rule that was broken, with all that is known of it. */
  readonly failures: readonly string[]
}

export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { seed, inputs = Number.POSITIVE_INFINITY, seconds = Number.POSITIVE_INFINITY, first = 0 } = options
  const { violations: most = 1, main, say } = options
  const deadline = performance.now() + seconds * 1000
  const tally = new Tally()
  const failures = new Map<string, string>()
  const stages = new Stages(main)
  let before: readonly Numbered[] = []
  try {
    for (let from = first; from < first + inputs && performance.now() < deadline; from += BATCH) {
      const count = Math.min(BATCH, first + inputs - from)
      const batch = Array.from({ length: count }, (_, i) => numbered(seed, from + i))
      const { runs, violations } = await stages.run(batch)
      for (const run of runs) tally.add(run)
      const news = violations.find(({ rule }) => !failures.has(rule))
      // A process takes a while to end: what ended it may have come with the batch before.
      const suspects = [...batch, ...before]
      before = batch
      if (!news) continue
      const found = `seed ${seed}: ${await explained(stages, news, suspects)}`
      failures.set(news.rule, found)
      say?.(found)
      if (failures.size >= most) break
    }
    return { tally, failures: [...failures.values()] }
  } finally {
    await stages.close()
  }
}

/** Judges given inputs one by one, each alone. */
export async function replay(inputs: readonly Input[], main?: string): Promise<Outcome[]> {
  const stages = new Stages(main)
  const outcomes: Outcome[] = []
  try {
    for (const [index, input] of inputs.entries()) outcomes.push(await stages.run([{ input, index }]))
    return outcomes
  } finally {
    await stages.close()
  }
}

/** A stage that is there: where the sidecar has ended, a new one takes over. */
class Stages {
  readonly #main: string | undefined
  #stage: Stage | undefined

  constructor(main: string | undefined) {
    this.#main = main
  }

  async run(inputs: readonly Numbered[]): Promise<Outcome> {
    if (this.#stage && !this.#stage.alive) await this.close()
    this.#stage ??= await Stage.start(this.#main)
    return this.#stage.run(inputs)
  }

  async close(): Promise<void> {
    await this.#stage?.close()
    this.#stage = undefined
  }
}

const numbered = (seed: number, index: number): Numbered => ({ input: generate(seed, index), index })

/** Which input it is, as small as it gets, and what goes wrong with it. */
async function explained(
  stages: Stages,
  violation: Violation,
  suspects: readonly Numbered[],
): Promise<string> {
  const { rule, message, run } = violation
  const alone = async (input: Input) => {
    const { violations } = await stages.run([{ input, index: 0 }])
    return violations.find((one) => isSame(one, violation))
  }
  for (const { input, index } of run ? [run] : suspects) {
    for (let i = 0; i < TRIES; i++) {
      if ((await alone(input)) === undefined) continue
      const smallest = await shrink(
        input,
        async (candidate) => (await alone(candidate)) !== undefined,
        SHRINK_MS,
      )
      const last = (await alone(smallest)) ?? violation
      return `input ${index} breaks "${rule}": ${last.message}\nmade small: ${described(smallest)}`
    }
  }
  const indexes = run
    ? `input ${run.index}`
    : `one of the inputs from ${suspects.at(-1)?.index} to ${suspects[0]?.index}`
  const shown = run ? `\n${described(run.input)}` : ''
  return `${indexes} broke "${rule}" once, and not when sent alone: ${message}${shown}`
}

/** The same rule, and the strict reader gives up for the same reasons: what shrinks must stay the same fault. */
function isSame(one: Violation, original: Violation): boolean {
  const [found, wanted] = [reasonsOf(one.run), reasonsOf(original.run)]
  return (
    one.rule === original.rule &&
    (wanted.size === 0) === (found.size === 0) &&
    [...found].every((why) => wanted.has(why))
  )
}

function reasonsOf(run: Run | undefined): Set<string> {
  const lines = run?.lines ?? []
  return new Set(lines.flatMap(({ stream }) => ('why' in stream.rest ? [stream.rest.why] : [])))
}
