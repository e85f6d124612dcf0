/** Faults of the gate: marks, permits, handovers. */
import type { PlantedFault } from './planted-fault.ts'

const GATE = ['unit/gate-handover.test.ts', 'unit/gate-raises.test.ts', 'property/gate.test.ts']

export const GATE_FAULTS: readonly PlantedFault[] = [
  {
    name: 'no drain: the successor does not wait for lower writes',
    file: 'gate/decision.ts',
    find: "if (!mark.complete) return lowerOpen ? 'drain' : 'settle'",
    plant: "if (!mark.complete) return 'settle'",
    tests: GATE,
  },
  {
    name: 'last check too early: what was revoked since the decision begins all the same',
    file: 'gate/permit.ts',
    find: "if (this.#state !== 'held') return false\n    this.#state = 'begun'",
    plant: "if (this.#state !== 'held' && this.#state !== 'revoked') return false\n    this.#state = 'begun'",
    tests: ['unit/gate-permit.test.ts', 'property/gate.test.ts'],
  },
  {
    name: '`<=` for `<`: the current holder is stale',
    file: 'gate/decision.ts',
    find: "if (token < mark.token) return 'stale-token'",
    plant: "if (token <= mark.token) return 'stale-token'",
    tests: ['unit/gate-decision.test.ts'],
  },
  {
    name: 'mark cached before its commit',
    file: 'gate/gate.ts',
    find: '    this.#run(task, record.mark.token + 1n, async () => {\n      await this.#store.commit(changes)',
    plant:
      '    this.#run(task, record.mark.token + 1n, async () => {\n      void this.#store.commit(changes).catch(() => {})\n      await null',
    tests: GATE,
  },
  {
    name: 'evicted while loading',
    file: 'gate/task-state.ts',
    find: 'return this.users === 0 && this.operation === undefined && this.inFlight.size === 0',
    plant: 'return this.inFlight.size === 0',
    tests: ['unit/gate-memory.test.ts', 'property/gate.test.ts'],
  },
  {
    name: 'unknown outcome recorded after the release',
    file: 'gate/gate.ts',
    find: '    if (changes.length > 0) this.#endings.record(changes, closed)\n',
    plant:
      '    if (changes.length > 0) queueMicrotask(() => this.#closed(permit))\n    if (changes.length > 0) this.#endings.record(changes, closed)\n',
    tests: ['unit/gate-unknown.test.ts', 'property/gate.test.ts'],
  },
  {
    name: 'handover completion not recorded',
    file: 'gate/gate.ts',
    find: '      await this.#store.commit([markChange(task.name, mark)])',
    plant: '      await this.#store.commit([markChange(task.name, { ...mark, complete: false })])',
    tests: ['unit/gate-handover.test.ts', 'unit/gate-grace.test.ts'],
  },
  {
    name: 'held writes do not keep the next holder out',
    file: 'gate/decision.ts',
    find: 'return token === NO_TOKEN || held.token < token',
    plant: 'return token === NO_TOKEN || held.token > token',
    tests: ['unit/gate-decision.test.ts', 'unit/gate-unknown.test.ts'],
  },
  {
    name: 'a freeze leaves admitted writes their permit',
    file: 'gate/gate.ts',
    find: '    if (frozen) {\n      task.revokeBelow(',
    plant: '    if (frozen) {\n      if (mark.token < 0n) task.revokeBelow(',
    tests: ['unit/gate-operator.test.ts'],
  },
]
