/** Faults of operations. */
import type { PlantedFault } from './planted-fault.ts'

const OPERATIONS = ['unit/gate-attempts.test.ts', 'property/operations.test.ts']

export const ONCE_FAULTS: readonly PlantedFault[] = [
  {
    name: 'once: the operation is looked up before its attempt is reserved',
    file: 'gate/gate.ts',
    find:
      "    const permit = await this.#permit(task, admission)\n    if ('code' in permit) return permit\n" +
      '    return (await this.attempts.refusal(task, admission)) ?? permit\n',
    plant: '    return (await this.attempts.refusal(task, admission)) ?? this.#permit(task, admission)\n',
    tests: OPERATIONS,
  },
  {
    name: 'once: the answer is passed on before it is on record',
    file: 'proxy/sending.ts',
    find: 'this.#permit.release(ending, () => this.#held?.recorded())',
    plant: 'this.#permit.release(ending)\n    this.#held?.recorded()',
    tests: ['http/once-store.test.ts'],
  },
  {
    name: 'once: the intent is not waited for',
    file: 'gate/attempts.ts',
    find: 'const durable = await within(this.#clock, this.#timeoutMs, intend).catch(() => false)',
    plant: 'void intend.catch(() => {})\n    const durable = true',
    tests: [...OPERATIONS, 'http/once-store.test.ts'],
  },
  {
    name: 'once: fingerprints are not compared',
    file: 'proxy/once.ts',
    find: '  if (found && found.fingerprint !== fingerprint) return refuse(mismatch(claim))\n',
    plant: '',
    tests: ['http/once.test.ts'],
  },
  {
    name: 'once: a final state is overwritten by how a later attempt ends',
    file: 'store/operation-table.ts',
    find: "state = CASE WHEN state = 'done' THEN 'done' \" +",
    plant: "state = CASE WHEN 0 THEN 'done' \" +",
    tests: ['contract/mark-store.test.ts', 'property/store-operations.test.ts'],
  },
  {
    name: 'once: each client’s own spelling of the key is what the provider is told',
    file: 'proxy/once.ts',
    find: 'providerKey: providerKey === facts.operation ? undefined : providerKey,',
    plant: 'providerKey: rule.providerKey === "forward" ? undefined : providerKey,',
    tests: ['http/once-bodies.test.ts'],
  },
  {
    name: 'once: an attempt that was revoked while its body came is put on record',
    file: 'gate/attempts.ts',
    find: '    if (admission.permit?.interruption) return admission.permit.interruption\n',
    plant: '',
    tests: ['unit/gate-attempts.test.ts'],
  },
  {
    name: 'once: what is held is forgotten with a commit that failed',
    file: 'gate/attempts.ts',
    find: '    if (!task.record) return refuse.storeUnavailable(claim)\n',
    plant: '    if (!task.record) return undefined\n',
    tests: ['unit/gate-attempts.test.ts'],
  },
  {
    name: 'once: any repeat passes what is held',
    file: 'gate/attempts.ts',
    find: 'const passes = held.every(({ operation }) => operation === attempt.id)',
    plant: 'const passes = attempt.found !== undefined || held.length === 0',
    tests: ['http/once.test.ts', ...OPERATIONS],
  },
  {
    name: 'once: a long answer that does not tell the outcome is put on record as one that does',
    file: 'proxy/once.ts',
    find: '      if (tells(answer.status)) await gate',
    plant: '      await gate',
    tests: ['http/once-answers.test.ts'],
  },
  {
    name: 'once: a long answer waits for its record as long as that takes',
    file: 'proxy/held-answer.ts',
    find: '    controller.pause()\n    this.#expectRecord()\n',
    plant: '    controller.pause()\n',
    tests: ['http/once-store.test.ts'],
  },
  {
    name: 'once: after an unknown attempt, a refusal of the repeat is final',
    file: 'proxy/once.ts',
    find: '(!unsure && rule.finalStatuses.includes(status))',
    plant: 'rule.finalStatuses.includes(status)',
    tests: ['http/once.test.ts'],
  },
  {
    name: 'once: a write without a token does not wait for a handover',
    file: 'gate/decision.ts',
    find: "  if (mark.recorded && !mark.complete) return lowerOpen ? 'drain' : 'settle'\n",
    plant: '',
    tests: OPERATIONS,
  },
]
