/** Faults of what stands around the gate: what is sent, what is stored, what a restart remembers. */
import type { PlantedFault } from './planted-fault.ts'

export const WIRE_FAULTS: readonly PlantedFault[] = [
  {
    name: 'no fsync: commits return before the disk has them',
    file: 'store/store-file.ts',
    find: 'PRAGMA journal_mode = WAL;\n    PRAGMA synchronous = FULL;',
    plant: 'PRAGMA journal_mode = WAL;\n    PRAGMA synchronous = OFF;',
    tests: ['unit/store-file.test.ts', 'contract/sqlite-faults.test.ts'],
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
