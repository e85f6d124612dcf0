/**
 * Breadth-first over every state that the rules can reach within a scope. A counterexample to a property of
 * states or steps is a shortest one.
 */

import { holderIsServed, isAtRest } from './properties.ts'
import type { Rules } from './rules.ts'
import { Numbers, StateTable } from './state-table.ts'
import { STEPS, type Step, subjects } from './steps.ts'
import { tell } from './story.ts'
import type { Property, Scope } from './words.ts'
import { type Form, World } from './world.ts'

export interface Exploration {
  readonly states: number
  readonly transitions: number
  /** How often each rule was applied. */
  readonly applied: ReadonlyMap<string, number>
  readonly counterexample: Counterexample | undefined
}

export interface Counterexample {
  readonly property: Property
  /** One line a step. */
  readonly story: readonly string[]
}

/** A fresh store, and the sidecar just started on it. */
export function start(rules: Rules, scope: Scope): World {
  const world = new World(scope)
  world.disk.clean = world.cache.clean = true
  rules.starts(world)
  return world
}

/**
 * @param watched the properties that end the exploration when one breaks.
 * @param form in which states are told apart; `exact` costs a multiple, and must find the same.
 */
export function explore(
  rules: Rules,
  scope: Scope,
  watched: readonly Property[],
  form: Form = 'canonical',
): Exploration {
  return new Explorer(rules, scope, watched, form).run()
}

class Explorer {
  readonly #rules: Rules
  readonly #scope: Scope
  readonly #watched: ReadonlySet<Property>
  readonly #form: Form
  readonly #world: World
  readonly #states: StateTable
  readonly #packed: Uint32Array
  /** From which state each was reached first. */
  readonly #parents = new Numbers()
  readonly #resting = new Numbers()
  /** Pairs of a state and one that follows it for certain: see `isAtRest`. */
  readonly #certain = new Numbers()
  readonly #applied = new Uint32Array(STEPS.length)
  #current = 0
  #counterexample: Counterexample | undefined

  constructor(rules: Rules, scope: Scope, watched: readonly Property[], form: Form) {
    this.#rules = rules
    this.#scope = scope
    this.#watched = new Set(watched)
    this.#form = form
    this.#world = start(rules, scope)
    this.#states = new StateTable(this.#world.width)
    this.#packed = new Uint32Array(this.#world.width)
  }

  run(): Exploration {
    this.#meet()
    for (; this.#current < this.#states.size; this.#current++) {
      if (this.#counterexample) break
      this.#expand()
    }
    if (this.#watched.has('progress') && !this.#counterexample) this.#findStuck()
    return {
      states: this.#states.size,
      transitions: this.#applied.reduce((sum, count) => sum + count, 0),
      applied: new Map(STEPS.map(({ rule }, at) => [rule, this.#applied[at] as number])),
      counterexample: this.#counterexample,
    }
  }

  /** Makes every step that can be made in the current state. */
  #expand(): void {
    this.#restore()
    this.#resting.push(isAtRest(this.#world) ? 1 : 0)
    holderIsServed(this.#world, this.#rules)
    this.#judge(undefined)
    for (let at = 0; at < STEPS.length; at++) {
      const step = STEPS[at] as Step
      for (const write of subjects(step, this.#world)) {
        if (this.#counterexample) return
        if (step.apply(this.#rules, this.#world, write)) this.#made(step, at)
      }
    }
  }

  #made(step: Step, at: number): void {
    this.#applied[at] = (this.#applied[at] as number) + 1
    this.#judge(step)
    const next = this.#meet()
    if (step.certain) {
      this.#certain.push(this.#current)
      this.#certain.push(next)
    }
    this.#restore()
  }

  #restore(): void {
    this.#world.unpack(this.#states.words, this.#current * this.#states.width)
  }

  /** Notes the state that the world is in; returns its number. */
  #meet(): number {
    const known = this.#states.size
    this.#world.pack(this.#packed, this.#form)
    const state = this.#states.add(this.#packed)
    if (state === known) this.#parents.push(this.#current)
    return state
  }

  #judge(step: Step | undefined): void {
    const { broken } = this.#world
    if (broken.length === 0) return
    const property = broken.find((broken) => this.#watched.has(broken))
    if (property) this.#counterexample = { property, story: this.#tell(this.#current, step) }
  }

  /** Finds a state from which none of rest can be reached for certain. */
  #findStuck(): void {
    const rests = this.#resting.all
    const pairs = this.#certain.all
    for (let changed = true; changed; ) {
      changed = false
      // Most pairs lead to a higher number, so that a pass backwards settles most of them.
      for (let i = pairs.length - 2; i >= 0; i -= 2) {
        const [from, to] = [pairs[i] as number, pairs[i + 1] as number]
        if (rests[from] === 0 && rests[to] === 1) {
          rests[from] = 1
          changed = true
        }
      }
    }
    const stuck = rests.indexOf(0)
    if (stuck !== -1) {
      this.#counterexample = { property: 'progress', story: this.#tell(stuck, undefined) }
    }
  }

  #tell(state: number, last: Step | undefined): readonly string[] {
    const path: Uint32Array[] = []
    const { width } = this.#states
    for (let s = state; s !== 0; s = this.#parents.all[s] as number) {
      path.unshift(this.#states.words.slice(s * width, (s + 1) * width))
    }
    return tell(this.#rules, start(this.#rules, this.#scope), path, last, this.#form)
  }
}
