/** What is redacted is gone in every spelling, and nothing else is changed by a byte. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redacted } from '../../src/proxy/redaction.ts'

const asText = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()
const redact = (text: string, ...pointers: string[]) => asText(redacted(Buffer.from(text), pointers))

const R = '"[redacted]"'

test.each([
  ['a member', '{"a":1,"b":2}', ['/a'], `{"a":${R},"b":2}`],
  [
    'a member of a member',
    '{"card": {"number": "4242", "last4": "42"}}',
    ['/card/number'],
    `{"card": {"number": ${R}, "last4": "42"}}`,
  ],
  ['an item', '[1, [2, 3], 4]', ['/1/0', '/2'], `[1, [${R}, 3], ${R}]`],
  ['a whole object or list', '{"a":{"b":[1]},"c":[{}]}', ['/a', '/c'], `{"a":${R},"c":${R}}`],
  [
    'strings full of marks',
    String.raw`{"a":"}\"]\\","b":"{,[:"}`,
    ['/b'],
    String.raw`{"a":"}\"]\\","b":${R}}`,
  ],
  [
    'a key with escapes',
    String.raw`{"\u0065mail":1,"a\"b":2}`,
    ['/email', '/a"b'],
    String.raw`{"\u0065mail":${R},"a\"b":${R}}`,
  ],
  ['each of a key given twice', '{"a":1,"a":{"b":2},"a":3}', ['/a'], `{"a":${R},"a":${R},"a":${R}}`],
  [
    'within each of a key given twice',
    '{"a":{"b":1},"a":{"b":2}}',
    ['/a/b'],
    `{"a":{"b":${R}},"a":{"b":${R}}}`,
  ],
  [
    'names with / and ~',
    '{"a/b":1,"m~n":2,"~1":3}',
    ['/a~1b', '/m~0n', '/~01'],
    `{"a/b":${R},"m~n":${R},"~1":${R}}`,
  ],
  ['the empty name', '{"":{"":1}}', ['//'], `{"":{"":${R}}}`],
  ['a name that is a number, of either', '{"0":[7,8]}', ['/0/1'], `{"0":[7,${R}]}`],
  [
    'a name of every object',
    '{"__proto__":1,"constructor":2}',
    ['/__proto__', '/constructor'],
    `{"__proto__":${R},"constructor":${R}}`,
  ],
  ['the outer one of two pointers', '{"a":{"b":1}}', ['/a/b', '/a'], `{"a":${R}}`],
  [
    'null and false too',
    '{"a":null,"b":false,"c":-1.5e+3}',
    ['/a', '/b', '/c'],
    `{"a":${R},"b":${R},"c":${R}}`,
  ],
  ['all of it', ' [1] ', [''], ` ${R} `],
])('%s', (_, text, pointers, expected) => expect(redact(text, ...pointers)).toBe(expected))

test.each([
  ['what is not there', '{"a":{"b":1},"c":[1]}', ['/b', '/a/c', '/a/b/c', '/c/1', '/c/-', '/c/00', '/d/e']],
  [
    'numbers beyond a float, spaces and order',
    '{ "b" : 12345678901234567890.10,\r\n\t"a":1E400 , "c": [ ] , "d":{ } }',
    ['/x'],
  ],
  ['letters beyond ASCII', '{"é":"\u{1f600}\\ud800"}', ['/e']],
  ['a value alone', '"secret"', ['/a']],
  ['anything, without pointers', 'card=4242', []],
  ['nothing at all', '', ['/a']],
])('%s: nothing is changed', (_, text, pointers) => expect(redact(text, ...pointers)).toBe(text))

test.each([
  ['a space', ' '],
  ['a form', 'card=4242'],
  ['an open object', '{"a":1'],
  ['two values', '{"a":1}\n{"a":2}'],
  ['a comment', '{"a":1}//'],
  ['a byte order mark', '\ufeff{}'],
  ['bytes that are no text', Buffer.from([0x22, 0xff, 0x22])],
])('%s is not JSON', (_, body) => expect(redacted(Buffer.from(body), ['/a'])).toBeUndefined())

test('a body that is nested without end is passed over', () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  expect(redact(`{"a":${deep},"b":1}`, '/b')).toBe(`{"a":${deep},"b":${R}}`)
})

/** The places in a value, as names from its root. */
function placesIn(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  const within = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return [at, ...within.flatMap(([name, part]) => placesIn(part, [...at, name]))]
}

const pointerTo = (place: readonly string[]) =>
  place.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** The same value with what stands at one of `gone`, or within it, replaced. */
function without(value: unknown, gone: ReadonlySet<string>, at: readonly string[] = []): unknown {
  if (gone.has(pointerTo(at))) return '[redacted]'
  if (Array.isArray(value)) return value.map((part, index) => without(part, gone, [...at, String(index)]))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, without(part, gone, [...at, name])]),
  )
}

test('any places of any value: they are replaced, and all else is as it was', () => {
  const names = fc.oneof(
    fc.constantFrom('a', 'b', '0', '1', '', '/', '~', '~1', '"', '\\'),
    fc.string({ unit: 'grapheme' }),
  )
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.string({ unit: 'grapheme' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }))
  const property = fc.property(
    value.chain((value) =>
      fc.tuple(fc.constant(value), fc.subarray(placesIn(value)), fc.array(fc.array(names))),
    ),
    fc.constantFrom(undefined, 1, '\t'),
    ([value, there, elsewhere], indent) => {
      const pointers = [...there, ...elsewhere.filter((place) => place.length > 0)].map(pointerTo)
      const expected = JSON.stringify(without(value, new Set(pointers)), null, indent)
      expect(redact(JSON.stringify(value, null, indent), ...pointers)).toBe(expected)
    },
  )
  fc.assert(property, { numRuns: 1000 })
})
