/**
 * One broken thing each: what a wrong program would do, and the tests that must turn red on it.
 *
 * `find` stands exactly once in the file, or the fault can't be planted and its test fails: the list can't rot.
 */

export interface PlantedFault {
  readonly name: string
  /** Below `src/`. */
  readonly file: string
  readonly find: string
  readonly plant: string
  /** Test files, below `test/`; one red test among them is enough. */
  readonly tests: readonly string[]
}

const GATE = ['unit/gate-handover.test.ts', 'unit/gate-raises.test.ts', 'property/gate.test.ts']
const OPERATIONS = ['unit/gate-attempts.test.ts', 'property/operations.test.ts']

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: 'no drain: the successor does not wait for lower writes',
    file: 'gate/decision.ts',
    find: "if (!mark.complete) return lowerOpen ? 'drain' : 'settle'",
    plant: "if (!mark.complete) return 'settle'",
    tests: GATE,
  },
  {
    name: 'no fsync: commits return before the disk has them',
    file: 'store/store-file.ts',
    find: 'PRAGMA journal_mode = WAL;\n    PRAGMA synchronous = FULL;',
    plant: 'PRAGMA journal_mode = WAL;\n    PRAGMA synchronous = OFF;',
    tests: ['unit/store-file.test.ts', 'contract/sqlite-faults.test.ts'],
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
    name: 'permit released when the client leaves',
    file: 'proxy/sending.ts',
    find: '    // Read on, to learn the outcome; but not for ever, if the answer never ends.\n',
    plant: "    this.#end({ outcome: 'answered' }, undefined)\n",
    tests: ['http/vanishing-clients.test.ts', 'http/handover-drain.test.ts'],
  },
  {
    name: 'permit released when the answer begins, not when it and the body have ended',
    file: 'proxy/sending.ts',
    find: '    this.#answer.start(controller, status, reason)\n',
    plant: '    this.#answer.start(controller, status, reason)\n    this.#answered()\n',
    tests: ['http/backpressure.test.ts', 'http/handover-drain.test.ts'],
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
    name: 'retry on reset',
    file: 'proxy/sending.ts',
    find: '    else this.#fail(error)\n  }\n',
    plant:
      '    else if (!this.#again && !this.#stopped) {\n      this.#again = true\n      const { req, method, upstream, headers } = this.#outgoing\n      const body = Buffer.alloc(this.#upload?.bytes ?? 0)\n      upstream.dispatch({ path: req.url as string, method, headers, body }, this)\n    } else this.#fail(error)\n  }\n  #again = false\n',
    tests: ['http/one-send.test.ts'],
  },
  {
    name: 'restart forgets intents',
    file: 'store/store-tables.ts',
    find: '      this.#writes.endOpenIntents(nowMs)\n',
    plant: "      db.exec('DELETE FROM writes WHERE reason IS NULL')\n",
    tests: ['contract/mark-store.test.ts', 'http/intents.test.ts'],
  },
  {
    name: 'restart forgets grace',
    file: 'sidecar.ts',
    find: 'return unclean && !intentsWereComplete',
    plant: 'return unclean && intentsWereComplete && false',
    tests: ['process/sidecar-shutdown.test.ts', 'http/intents.test.ts'],
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
  {
    name: 'joined duplicates: the claim is read from fields that were joined, and the first value counts',
    file: 'proxy/data-port.ts',
    find: 'rawHeaders: req.rawHeaders',
    plant:
      "rawHeaders: Object.entries(req.headers).flatMap(([name, value]) => [name, String(value).split(', ')[0] as string])",
    tests: ['fuzz/fuzz.test.ts'],
  },
  {
    name: 'lenient length: what delimits a body is read as leniently as the parser can',
    file: 'proxy/client-server.ts',
    find: 'insecureHTTPParser: false',
    plant: 'insecureHTTPParser: true',
    tests: ['fuzz/fuzz.test.ts'],
  },
  {
    name: 'decoded target: the resource gets it without its escapes',
    file: 'proxy/sending.ts',
    find: 'path: req.url as string',
    plant: 'path: unescape(req.url as string)',
    tests: ['fuzz/fuzz.test.ts'],
  },
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
