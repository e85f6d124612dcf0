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
    find: '    this.#relay.start(controller, status, reason)\n',
    plant: '    this.#relay.start(controller, status, reason)\n    this.#answered()\n',
    tests: ['http/backpressure.test.ts', 'http/handover-drain.test.ts'],
  },
  {
    name: 'unknown outcome recorded after the release',
    file: 'gate/gate.ts',
    find: "      this.#endings.record({ kind: 'unknown', write, end }, () => {\n        if (admission.rule.holds)",
    plant:
      "      queueMicrotask(() => this.#closed(permit))\n      this.#endings.record({ kind: 'unknown', write, end }, () => {\n        if (admission.rule.holds)",
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
    find: '    this.#writes.endOpenIntents()\n',
    plant: "    store.db.exec('DELETE FROM writes WHERE reason IS NULL')\n",
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
    find: "return held.some((write) => write.token < token) ? 'handover-held' : 'permit'",
    plant: "return held.some((write) => write.token > token) ? 'handover-held' : 'permit'",
    tests: ['unit/gate-decision.test.ts', 'unit/gate-unknown.test.ts'],
  },
  {
    name: 'a freeze leaves admitted writes their permit',
    file: 'gate/gate.ts',
    find: '    if (frozen) task.revokeBelow(',
    plant: '    if (frozen && mark.token < 0n) task.revokeBelow(',
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
]
