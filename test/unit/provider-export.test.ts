/** Provider's exports as they are read, and CSV as it is written: each text means one thing, or is a fault with its line. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { csvLine } from '../../src/cli/csv.ts'
import { type CsvRecord, readCsv } from '../../src/cli/csv-reader.ts'
import { type ExportFile, exportEntries } from '../../src/cli/provider-export.ts'
import { textOf } from '../../src/cli/text-source.ts'
import { EXIT, ExitError } from '../../src/errors.ts'

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-export-'))
afterAll(() => fs.rmSync(directory, { recursive: true }))

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function* parts(...texts: string[]) {
  yield* texts
}

async function csv(...texts: string[]): Promise<CsvRecord[]> {
  return collected(readCsv('f.csv', parts(...texts)))
}

function entriesOf(text: string | Uint8Array, options: Partial<ExportFile> = {}) {
  const file = path.join(directory, 'export')
  fs.writeFileSync(file, text)
  return collected(exportEntries({ file, format: 'csv', key: 'key', columns: [], ...options }))
}

/** The message, without the directory. */
async function fault(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(ExitError)
  expect((error as ExitError).exitCode).toBe(EXIT.usage)
  return (error as ExitError).message.replace(`${directory}${path.sep}`, '')
}

describe('CSV', () => {
  test('lines, quotes and empty fields', async () => {
    const text = 'a,b\r\n"x, ""y""",\n\n,"1\r\n2\n3"\rlast,"'
    expect(await csv(`${text}"`)).toEqual([
      { line: 1, fields: ['a', 'b'] },
      { line: 2, fields: ['x, "y"', ''] },
      { line: 4, fields: ['', '1\r\n2\n3'] },
      { line: 7, fields: ['last', ''] },
    ])
    expect(await csv('')).toEqual([])
    expect(await csv('a,')).toEqual([{ line: 1, fields: ['a', ''] }])
  })

  test.each([
    ['a\n"b', 'f.csv, line 2: a quoted field that begins here has no end'],
    ['a\n"b"c', 'f.csv, line 2: text behind a quoted field: double each quotation mark within the field'],
    [
      '"1\n2",b"c',
      'f.csv, line 2: a quotation mark in a field that does not begin with one: quote the whole field, and double the mark',
    ],
  ])('%j is a fault', async (text, message) => {
    expect(await fault(csv(text))).toBe(message)
    expect(await fault(csv(...text))).toBe(message)
  })

  test('a quotation mark without its end does not take the whole file', async () => {
    const read = 'x'.repeat(2 ** 16)
    let given = 0
    async function* endless() {
      yield 'a\n"'
      for (; given < 1000; given++) yield read
    }
    const message = await fault(collected(readCsv('f.csv', endless())))
    expect(message).toBe('f.csv, line 2: a record longer than 1 MiB: is the end of a quoted field missing?')
    expect(given).toBeLessThan(20)
  })

  const cell = fc.string({ unit: fc.constantFrom(...'ab,"\r\n=-\t '), maxLength: 6 })

  test('what was written is read again, wherever the parts of the file end', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 6 }),
      fc.array(fc.nat(80), { maxLength: 8 }),
      async (rows, cuts) => {
        const text = rows.map(csvLine).join('')
        const at = [0, ...cuts.sort((a, b) => a - b), text.length]
        const read = await csv(...at.slice(1).map((end, i) => text.slice(at[i], end)))
        const harmless = (field: string) => (/^[=+\-@\t\r\n]/.test(field) ? `'${field}` : field)
        expect(read.map(({ fields }) => fields)).toEqual(rows.map((row) => row.map(harmless)))
      },
    )
    await fc.assert(property)
  })

  test('the line of each record is the one that it begins on', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.array(cell, { minLength: 2 }), { maxLength: 6 }),
      async (rows) => {
        const text = rows.map(csvLine)
        const lineEnds = (before: string) => before.match(/\r\n|\r|\n/g)?.length ?? 0
        expect((await csv(text.join(''))).map(({ line }) => line)).toEqual(
          rows.map((_, i) => 1 + lineEnds(text.slice(0, i).join(''))),
        )
      },
    )
    await fc.assert(property)
  })
})

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', '"\'\r=1"'],
  ['=A1,"x"', '"\'=A1,""x"""'],
  ['a=1', 'a=1'],
])('no cell is a formula: %j', (cell, written) => {
  expect(csvLine([cell, undefined, -1])).toBe(`${written},,-1\r\n`)
})

describe('an export in CSV', () => {
  test('columns are found by their names; an empty key is none', async () => {
    const text = '\ufeffid,key,"a,b"\r\n1,k1,x\r\n\r\n2,,y\r\n'
    expect(await entriesOf(text, { columns: ['a,b', 'id'] })).toEqual([
      { line: 2, key: 'k1', values: ['x', '1'] },
      { line: 4, key: undefined, values: ['y', '2'] },
    ])
    expect(await entriesOf('key\n')).toEqual([])
  })

  test.each<[string, string | Uint8Array, Partial<ExportFile>, string]>([
    ['is empty', '', {}, 'export: is empty: its first line names the columns'],
    [
      'lacks the key',
      'id;key\n',
      {},
      'export, line 1: no column "key": name one of "id;key" with --check-key or --check-column (columns are separated ' +
        'by commas)',
    ],
    ['lacks a column', 'key\n', { columns: ['code'] }, 'export, line 1: no column "code": name one of "key"'],
    [
      'has one twice',
      'key,id,key\n',
      {},
      'export, line 1: the column "key" is there twice: rename one of them',
    ],
    [
      'has a field too many',
      'key,id\nk1,1\nk2,1,000\n',
      {},
      'export, line 3: 3 fields where the first line names 2: quote fields that hold commas',
    ],
    [
      'is no UTF-8',
      Buffer.from('key\nk1\ncaf\xe9\n', 'latin1'),
      {},
      'export: is not UTF-8, at or after line 1: convert it first',
    ],
    ['ends within a character', Buffer.from([0x6b, 0x65, 0x79, 0x0a, 0xc3]), {}, 'export: is not UTF-8'],
  ])('that %s is a fault', async (_, text, options, message) => {
    expect(await fault(entriesOf(text, options))).toContain(message)
  })
})

describe('an export in JSON Lines', () => {
  const jsonl = (text: string, options: Partial<ExportFile> = {}) =>
    entriesOf(text, { format: 'jsonl', ...options })

  test('members by name or pointer, large numbers as they are written, null as nothing', async () => {
    const text = [
      '{"key":"k1","token":9007199254740993,"a":{"b/c":[1,{"d~":true}]}}',
      '',
      '{"key":null,"token":1.50,"a":{"x":1}}\r',
      '{"token":"007"}',
    ].join('\n')
    expect(await jsonl(text, { columns: ['token', '/a/b~1c/1/d~0', 'a'] })).toEqual([
      { line: 1, key: 'k1', values: ['9007199254740993', 'true', '{"b/c":[1,{"d~":true}]}'] },
      { line: 3, key: undefined, values: ['1.5', undefined, '{"x":1}'] },
      { line: 4, key: undefined, values: ['007', undefined, undefined] },
    ])
    expect(await jsonl('{"key":1}', { columns: ['toString', '__proto__'] })).toEqual([
      { line: 1, key: '1', values: [undefined, undefined] },
    ])
    expect(await jsonl('')).toEqual([])
  })

  test.each([
    ['[{"key":1},\n{"key":2}]', 'export, line 1: is no JSON: '],
    [
      '{"key":1}\n[{"key":1}]',
      'export, line 2: is no JSON object: write one entry a line, as "jq -c .[]" does of a list',
    ],
    ['{"key":1}\n\n{"key":', 'export, line 3: is no JSON: '],
    [
      '{"id":1}',
      'export, line 1: no member "key": name the one with the key with --check-key, or a path to it',
    ],
    [`{"key":"${'x'.repeat(2 ** 20)}"}`, 'export, line 1: longer than 1 MiB: write one entry a line'],
  ])('case %# is a fault', async (text, message) => {
    expect(await fault(jsonl(text))).toContain(message)
  })
})

test('a file that is not there, or is a directory', async () => {
  expect(await fault(collected(textOf(path.join(directory, 'none'))))).toBe(
    "none: can't be read (ENOENT): name a file that is there",
  )
  expect(await fault(collected(textOf(directory)))).toMatch(/can't be read \(EISDIR\)/)
})
