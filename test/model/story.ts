/**
 * A path through the states, told step by step. States are stored in a form in which writes that are alike
 * change places, so the path is walked again with each write keeping its name.
 */
import type { Rules } from './rules.ts'
import { describe, STEPS, type Step, subjects } from './steps.ts'
import type { Form, World } from './world.ts'

/**
 * @param world where the path begins.
 * @param path the states after that, in the form given.
 * @param last the step that broke something after that.
 */
export function tell(
  rules: Rules,
  world: World,
  path: readonly Uint32Array[],
  last: Step | undefined,
  form: Form,
): string[] {
  const story = path.map((state) => walk(rules, world, STEPS, form, (words) => same(words, state)))
  if (last) story.push(walk(rules, world, [last], form, () => world.broken.length > 0))
  return story
}

/** Makes the step that leads to what is looked for, and leaves the world there; returns its line. */
function walk(
  rules: Rules,
  world: World,
  steps: readonly Step[],
  form: Form,
  found: (words: Uint32Array) => boolean,
): string {
  const exact = new Uint32Array(world.width)
  const reached = new Uint32Array(world.width)
  world.pack(exact, 'exact')
  for (const step of steps) {
    for (const write of subjects(step, world)) {
      world.unpack(exact)
      const line = describe(step, world, write)
      if (!step.apply(rules, world, write)) continue
      world.pack(reached, form)
      if (found(reached)) return `${line} ${marks(world)}`
    }
  }
  throw new Error('the path leads nowhere: a rule depends on what the canonical form forgets')
}

/** What is on the disk, in the page cache and in the gate, where they differ from each other. */
function marks({ disk, cache, known, token, complete, up, grace }: World): string {
  const show = (token: number, complete: boolean) => `${token}${complete ? '✓' : ''}`
  const stored = show(disk.token, disk.complete)
  const written = show(cache.token, cache.complete)
  const gate = known ? show(token, complete) : '?'
  const parts = [`disk ${stored}`]
  if (written !== stored) parts.push(`written ${written}`)
  if (up) parts.push(`gate ${gate}`)
  if (grace) parts.push('grace')
  return `[${parts.join(', ')}]`
}

function same(a: Uint32Array, b: Uint32Array): boolean {
  return a.every((word, at) => word === b[at])
}
