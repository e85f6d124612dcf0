/**
 * A path through the states, told step by step. States are stored in a form in which writes that are alike
 * change places, so the path is walked again with each write keeping its name.
 */
import type { Rules } from './rules.ts'
import { describe, NO_WRITE, type Step, TASK_STEPS, WRITE_STEPS } from './steps.ts'
import type { World } from './world.ts'

/**
 * @param world where the path begins.
 * @param path the states after that, in their canonical form.
 * @param last the step after the path which broke something, with the write's place in the canonical form.
 */
export function tell(
  rules: Rules,
  world: World,
  path: readonly Uint32Array[],
  last: { step: Step; at: number } | undefined,
): string[] {
  const story: string[] = []
  for (const state of path) story.push(walk(rules, world, (words) => same(words, state), undefined))
  if (last) story.push(walk(rules, world, () => world.broken.length > 0, last.step))
  return story
}

/** Makes the step that leads to the state looked for, and leaves the world there; returns its line. */
function walk(
  rules: Rules,
  world: World,
  found: (words: Uint32Array) => boolean,
  only: Step | undefined,
): string {
  const exact = new Uint32Array(world.width)
  const canonical = new Uint32Array(world.width)
  world.pack(exact, 'exact')
  for (const [steps, writes] of [
    [TASK_STEPS, [NO_WRITE]],
    [WRITE_STEPS, world.writes],
  ] as const) {
    for (const step of only ? steps.filter((one) => one === only) : steps) {
      for (const write of writes) {
        world.unpack(exact)
        const line = describe(step, world, write)
        if (!step.apply(rules, world, write)) continue
        world.pack(canonical, 'canonical')
        if (found(canonical)) return `${line} ${marks(world)}`
      }
    }
  }
  throw new Error('the path leads nowhere: a rule depends on what the canonical form forgets')
}

/** What is on the disk, in the page cache and in the gate, where they differ from each other. */
function marks({ disk, cache, known, token, complete, up }: World): string {
  const show = (token: number, complete: boolean) => `${token}${complete ? '✓' : ''}`
  const stored = show(disk.token, disk.complete)
  const written = show(cache.token, cache.complete)
  const gate = known ? show(token, complete) : '?'
  return `[disk ${stored}${written === stored ? '' : `, written ${written}`}${up ? `, gate ${gate}` : ''}]`
}

function same(a: Uint32Array, b: Uint32Array): boolean {
  return a.every((word, at) => word === b[at])
}
