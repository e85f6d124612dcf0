/** Faults of what operators act by: their acts, who may do what, and the store's life. */
import type { PlantedFault } from './planted-fault.ts'

export const OPERATE_FAULTS: readonly PlantedFault[] = [
  {
    name: 'fence: the mark is raised by more than one',
    file: 'gate/operator.ts',
    find: 'const next = token + 1n',
    plant: 'const next = token + 2n',
    tests: ['unit/gate-fence.test.ts'],
  },
  {
    name: 'reset: an unknown outcome does not stop it',
    file: 'gate/reset.ts',
    find: "if (unknown) throw new Error('see below')",
    plant: '',
    tests: ['unit/gate-reset.test.ts'],
  },
  {
    name: 'reset: a task that is not frozen is reset too',
    file: 'gate/reset.ts',
    find: ': !frozen',
    plant: ': false',
    tests: ['unit/gate-reset.test.ts'],
  },
  {
    name: 'retire: marks go before there is a floor',
    file: 'gate/retirement.ts',
    find: "{ kind: 'floor', prefix, floor },",
    plant: '',
    tests: ['unit/gate-retire.test.ts'],
  },
  {
    name: 'retire: what is in use is not noted first',
    file: 'gate/retirement.ts',
    find: 'await this.#usage.note()',
    plant: '',
    tests: ['unit/gate-retire.test.ts'],
  },
  {
    name: 'retire: the gate goes on with what it knew',
    file: 'gate/retirement.ts',
    find: 'this.#gate.forget({ prefix })',
    plant: '',
    tests: ['unit/gate-retire.test.ts'],
  },
  {
    name: 'migration: the copy is of what it made',
    file: 'store/store-file.ts',
    find: 'migrated = { from: version, copy: keepCopy(file, version) }\n      db = openExclusively(directory)\n      migrate(db)',
    plant:
      'db = openExclusively(directory)\n      migrate(db)\n      migrated = { from: version, copy: keepCopy(file, version) }',
    tests: ['unit/store-migration.test.ts'],
  },
  {
    name: 'restore: marks stay below the floor',
    file: 'store/restore-draft.ts',
    find: 'raiseAll(db, restore.floor)',
    plant: '',
    tests: ['unit/store-restore.test.ts'],
  },
  {
    name: 'retire: marks above the floor of their prefix go too',
    file: 'store/mark-table.ts',
    find: 'const highest = ofTask < floor ? ofTask : floor',
    plant: 'const highest = floor',
    tests: ['contract/mark-store.test.ts', 'property/store-retire.test.ts'],
  },
  {
    name: 'admin port: any bearer token is taken',
    file: 'admin/access.ts',
    find: 'if (timingSafeEqual(digest, own)) found = name',
    plant: 'if (digest.length === own.length) found = name',
    tests: ['unit/admin-access.test.ts'],
  },
  {
    name: 'admin port: a page by a rebound name may read',
    file: 'admin/access.ts',
    find: 'if (isOwnName(headers.host) && !isOfOtherPage(headers)) return true',
    plant: 'if (!isOfOtherPage(headers)) return true',
    tests: ['unit/admin-access.test.ts'],
  },
  {
    name: 'journal stream: entries are written twice',
    file: 'admin/journal-stream.ts',
    find: 'this.#place = next ?? Math.max(last, lastEntry)',
    plant: 'this.#place = next ?? this.#place',
    tests: ['unit/admin-journal-stream.test.ts'],
  },
]
