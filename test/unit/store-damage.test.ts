/**
 * What a crash and a damaged disk leave behind. Copying the files of an open store gives what `kill -9`
 * would leave at that instant.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { EXIT } from '../../src/errors.ts'
import { type OpenStore, openStore } from '../../src/store/store-file.ts'
import { StoreTables } from '../../src/store/store-tables.ts'
import { markChange } from '../support/store-changes.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const PAGE = 4096

function open(directory: string): { store: OpenStore; tables: StoreTables } {
  const store = openStore({ directory, create: 'if-missing', lockWaitMs: 0, intentsComplete: false })
  return { store, tables: new StoreTables(store) }
}

const record = (task: string, token: bigint) => markChange(task, token, true)

/** What is on disk now, as another place. */
function crashImage(directory: string): string {
  const image = temporaryDirectory()
  for (const name of ['marks.db', 'marks.db-wal']) {
    fs.copyFileSync(path.join(directory, name), path.join(image, name))
  }
  return image
}

/** A closed store of 2000 tasks: some tens of pages. */
function largeStore(clean: boolean): string {
  const directory = temporaryDirectory()
  const { tables } = open(directory)
  tables.commit(Array.from({ length: 2000 }, (_, i) => record(`a-task-with-a-name-of-some-length-${i}`, 9n)))
  tables.close(clean)
  return directory
}

function expectRefused(directory: string): void {
  for (const create of ['never', 'if-missing'] as const) {
    let refused: unknown
    try {
      open(directory).tables.close(false)
    } catch (error) {
      refused = error
    }
    expect(refused, create).toMatchObject({ exitCode: EXIT.unavailable })
    expect((refused as Error).message).toMatch(
      /damaged or foreign.*bring a backup back.*fencegate restore FILE --floor N/s,
    )
  }
}

function overwrite(file: string, offset: number, bytes: Buffer): void {
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, bytes, 0, bytes.length, offset)
  fs.closeSync(fd)
}

const stops = [
  ['a clean stop', true],
  ['an unclean stop', false],
] as const

test.each(stops)('after %s, pages overwritten in the middle mean no start', (_, clean) => {
  const directory = largeStore(clean)
  const file = path.join(directory, 'marks.db')
  const pages = fs.statSync(file).size / PAGE
  expect(pages).toBeGreaterThan(20)
  overwrite(file, Math.floor(pages / 2) * PAGE, Buffer.alloc(2 * PAGE, 0x5a))
  expectRefused(directory)
})

test.each(stops)('after %s, a page of zeroes means no start', (_, clean) => {
  const directory = largeStore(clean)
  const file = path.join(directory, 'marks.db')
  overwrite(file, Math.floor(fs.statSync(file).size / PAGE / 2) * PAGE, Buffer.alloc(PAGE))
  expectRefused(directory)
})

test.each(stops)('after %s, a truncated file means no start', (_, clean) => {
  for (const keep of [0.9, 0.5, 0.1]) {
    const directory = largeStore(clean)
    const file = path.join(directory, 'marks.db')
    fs.truncateSync(file, Math.floor(fs.statSync(file).size * keep))
    expectRefused(directory)
  }
})

test.each(stops)('after %s, a garbage header means no start', (_, clean) => {
  const directory = largeStore(clean)
  overwrite(path.join(directory, 'marks.db'), 0, Buffer.alloc(100, 0x5a))
  expectRefused(directory)
})

test('after an unclean stop, damage within a sound page is found too', () => {
  const directory = largeStore(false)
  const file = path.join(directory, 'marks.db')
  const name = Buffer.from('a-task-with-a-name-of-some-length-1234')
  const offset = fs.readFileSync(file).indexOf(name)
  overwrite(file, offset, Buffer.alloc(name.length, 'z')) // Out of order now, so never found again.
  expectRefused(directory)
})

test('a crash forgets no commit, checkpointed or not, and the next start knows of it', () => {
  const directory = temporaryDirectory()
  const { tables } = open(directory)
  tables.commit([record('checkpointed', 5n)])
  tables.checkpoint('PASSIVE')
  tables.commit([record('in the WAL alone', 6n)])
  const image = crashImage(directory)
  tables.close(true)
  const after = open(image)
  expect(after.store.origin.unclean).toBe(true)
  expect(after.tables.load('checkpointed').mark).toMatchObject({ token: 5n, recorded: true })
  expect(after.tables.load('in the WAL alone').mark).toMatchObject({ token: 6n, recorded: true })
  after.tables.close(true)
})

test('a crash right after the start, before any commit, is known to the next start', () => {
  const directory = temporaryDirectory()
  const { tables } = open(directory)
  const image = crashImage(directory)
  tables.close(true)
  const after = open(image)
  expect(after.store.origin).toMatchObject({ unclean: true, created: false })
  after.tables.close(true)
})

test('before a start reads it, the WAL of an unclean stop is written anew', () => {
  const directory = temporaryDirectory()
  const { tables } = open(directory)
  tables.commit([record('k', 6n)])
  const image = crashImage(directory)
  tables.close(true)
  const wal = path.join(image, 'marks.db-wal')
  fs.writeFileSync(`${wal}.rewrite`, 'what a crash within the rewriting left')
  const before = fs.statSync(wal).ino
  const after = open(image)
  expect(fs.statSync(wal).ino).not.toBe(before)
  expect(fs.existsSync(`${wal}.rewrite`)).toBe(false)
  expect(after.tables.load('k').mark.token).toBe(6n)
  after.tables.close(true)
})

/** A crash after 12 commits of one task, tokens 1 to 12, and the size of the WAL after each of them. */
function crashAfterCommits(): { image: string; wal: string; sizes: number[] } {
  const directory = temporaryDirectory()
  const { tables } = open(directory)
  const sizes = Array.from({ length: 12 }, (_, i) => {
    tables.commit([record('k', BigInt(i + 1))])
    return fs.statSync(path.join(directory, 'marks.db-wal')).size
  })
  const image = crashImage(directory)
  tables.close(true)
  return { image, wal: path.join(image, 'marks.db-wal'), sizes }
}

/** Opens a copy of the image, with `damage` done to its WAL, and reads the mark. */
function tokenAfter(image: string, damage: (wal: string) => void): bigint {
  const copy = crashImage(image)
  damage(path.join(copy, 'marks.db-wal'))
  const { store, tables } = open(copy)
  expect(store.origin.unclean).toBe(true)
  const { token } = tables.load('k').mark
  tables.close(true)
  return token
}

test('a torn end of the WAL loses what was torn and nothing before it', () => {
  const { image, wal, sizes } = crashAfterCommits()
  const end = fs.statSync(wal).size
  const whole = (size: number) => BigInt(sizes.filter((each) => each <= size).length)
  const lengths = [1, 23, 24, 25, 512, 4095, 4096, 4119, 4120, 4121, 6000].map((torn) => end - torn)
  for (const length of lengths) {
    const token = tokenAfter(image, (file) => fs.truncateSync(file, length))
    expect(token, `truncated to ${length} of ${end}`).toBe(whole(length))
    expect(token).toBeGreaterThan(0n)
  }
})

test('a garbled last frame loses its own commit and nothing before it', () => {
  const { image, wal, sizes } = crashAfterCommits()
  const end = fs.statSync(wal).size
  const last = sizes.at(-2) as number
  for (let offset = last; offset < end; offset += 499) {
    const token = tokenAfter(image, (file) => {
      const byte = fs.readFileSync(file)[offset] as number
      overwrite(file, offset, Buffer.from([byte ^ 0x10]))
    })
    expect(token, `bit flipped at ${offset}`).toBe(11n)
  }
})

test('damage in the log before commits that were acknowledged is refused, wherever it is', () => {
  const { image, sizes } = crashAfterCommits()
  const begins = sizes[0] as number
  const lastButOne = sizes.at(-3) as number
  for (let offset = begins; offset < lastButOne; offset += 997) {
    const copy = crashImage(image)
    const wal = path.join(copy, 'marks.db-wal')
    overwrite(wal, offset, Buffer.from([(fs.readFileSync(wal)[offset] as number) ^ 0x10]))
    expect(() => open(copy), `bit flipped at ${offset}`).toThrow(/damaged or foreign.*behind damage/s)
  }
})

test('a start whose log is gone knows that the stop was unclean', () => {
  const { image, wal } = crashAfterCommits()
  fs.rmSync(wal)
  const { store, tables } = open(image)
  expect(store.origin.unclean).toBe(true)
  tables.close(true)
})

test('a start that was killed before it wrote anything changes nothing', () => {
  const directory = temporaryDirectory()
  const { tables } = open(directory)
  tables.commit([record('k', 9n)])
  tables.close(true)
  fs.writeFileSync(path.join(directory, 'marks.db-wal'), '')
  const after = open(directory)
  expect(after.store.origin.unclean).toBe(false)
  expect(after.tables.load('k').mark).toMatchObject({ token: 9n })
  after.tables.close(true)
})
