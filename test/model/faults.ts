/**
 * The rules broken one at a time. Each fault is the rules with a method or two replaced, and must give a
 * counterexample to the promise that it names: one that gives none shows that the model is too weak.
 */
import { GATE_FAULTS } from './gate-faults.ts'
import type { Rules } from './rules.ts'
import type { ScopeName } from './scopes.ts'
import { SENDER_FAULTS } from './sender-faults.ts'
import { STORE_FAULTS } from './store-faults.ts'
import type { Property, Scope } from './words.ts'

export interface Fault {
  readonly name: string
  readonly breaks: Property
  /** Where it shows. */
  readonly within: ScopeName
  readonly Rules: new (scope: Scope) => Rules
}

export const FAULTS: readonly Fault[] = [...GATE_FAULTS, ...SENDER_FAULTS, ...STORE_FAULTS]
