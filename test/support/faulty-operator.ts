/** Operators in the faulty world: their acts, and what they may believe once they are answered. */
import assert from 'node:assert/strict'
import { ActError } from '../../src/gate/act-error.ts'
import type { Gate } from '../../src/gate/gate.ts'
import { Operator } from '../../src/gate/operator.ts'
import type { ActResult } from '../../src/gate/task-state.ts'
import { Usage } from '../../src/gate/usage.ts'
import type { OpenWrite } from '../../src/gate/view.ts'
import type { Author } from '../../src/journal/records.ts'
import { StoreError } from '../../src/store/mark-store.ts'
import type { Token } from '../../src/token.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import type { Oracle } from './faulty-oracle.ts'
import type { MemoryMarkStore } from './memory-mark-store.ts'
import type { VirtualClock } from './virtual-clock.ts'

export interface ActStep {
  readonly kind: 'act'
  readonly act: 'freeze' | 'thaw' | 'thaw to' | 'raise' | 'resolve'
  readonly pick: number
  /** How far above the mark, for acts that take a token. */
  readonly above?: number
}

interface Surroundings {
  readonly gate: Gate
  readonly store: MemoryMarkStore
  readonly oracle: Oracle
  readonly clock: VirtualClock
  readonly storeTimeoutMs: number
  readonly fault: (error: unknown) => void
}

let acts = 0

export class FaultyOperator {
  readonly #world: Surroundings
  readonly #operator: Operator
  #failures = 0
  #waiting = 0

  constructor(world: Surroundings) {
    this.#world = world
    const { gate, store, clock } = world
    this.#operator = new Operator({ gate, store, clock, usage: new Usage(store, clock), maxToken: MAX_TOKEN })
  }

  /** Acts that have not been answered. */
  get waiting(): number {
    return this.#waiting
  }

  /** A store operation failed. */
  storeFailed(): void {
    this.#failures++
  }

  act(step: ActStep, task: string): void {
    const { store, oracle, clock, fault } = this.#world
    const author: Author = { by: 'operator', reason: `act ${acts++}` }
    const token = store.disk.mark(task).token + BigInt(step.above ?? 0)
    const begun = oracle.in('begun').filter((write) => write.task === task)
    const [sinceMs, failures] = [clock.now(), this.#failures]
    this.#waiting++
    this.#perform(step, task, token, author)
      .then(
        (result) => {
          oracle.saw(step.act)
          if (result) this.#acknowledged(task, author, result.open, begun)
          if (step.act === 'freeze') oracle.freezeAcknowledged(task)
          if (step.act === 'raise') assert.ok(store.disk.mark(task).token >= token, 'a raise was lost')
        },
        (error: unknown) => this.#refused(error, sinceMs, failures),
      )
      .catch(fault)
      .finally(() => this.#waiting--)
  }

  async #perform(
    { act, pick }: ActStep,
    task: string,
    token: Token,
    author: Author,
  ): Promise<ActResult | undefined> {
    const operator = this.#operator
    switch (act) {
      case 'freeze':
        return operator.freeze(task, author)
      case 'thaw':
        return operator.thaw(task, author)
      case 'thaw to':
        return operator.thaw(task, author, token)
      case 'raise':
        return operator.raise(task, author, token)
      case 'resolve':
        return this.#resolve(task, pick, author)
    }
  }

  /** Resolves one of the task's writes, sometimes one that was resolved before. */
  async #resolve(task: string, pick: number, author: Author): Promise<undefined> {
    const { disk } = this.#world.store
    const listed = disk.unresolved.filter((write) => write.task === task)
    const write = listed[pick % listed.length] ?? [...disk.writes.values()].find((each) => 'reason' in each)
    if (!write) return undefined
    const resolved = await this.#operator.resolve(write.id, 'applied', author)
    assert.equal(resolved.resolution, 'applied')
    assert.equal(disk.unknownWrite(write.id)?.resolution, 'applied', 'a resolution was lost')
    return undefined
  }

  /** The act is on record, and what was at work before it and still is was listed. */
  #acknowledged(
    task: string,
    { reason }: Author,
    open: readonly OpenWrite[],
    begun: readonly { readonly id: string; readonly state: string }[],
  ): void {
    const { disk } = this.#world.store
    assert.equal(disk.acts.filter((act) => act.task === task && act.reason === reason).length, 1, 'an act')
    const listed = open.map(({ admission }) => admission.id)
    for (const { id, state } of begun) {
      if (state === 'begun') assert.ok(listed.includes(id), 'an open write was not listed')
    }
  }

  #refused(error: unknown, sinceMs: number, failures: number): void {
    const { clock, oracle, storeTimeoutMs } = this.#world
    if (error instanceof ActError) return oracle.saw('act refused')
    if (!(error instanceof StoreError)) throw error
    oracle.saw('act failed')
    const failed = this.#failures > failures
    assert.ok(failed || clock.now() - sinceMs >= storeTimeoutMs, 'an act failed for no reason')
  }
}
