/** A token has one spelling and one value; a task is short visible ASCII. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isTask, MAX_TOKEN, parseToken } from '../../src/token.ts'

test.each([
  ['1', 1n],
  ['9007199254740993', 9007199254740993n],
  ['9223372036854775807', MAX_TOKEN],
])('%s is a token', (text, token) => {
  expect(parseToken(text)).toBe(token)
})

test.each([
  '9223372036854775808',
  '10000000000000000000',
  '0',
  '00',
  '09',
  '-1',
  '+9',
  '9.0',
  '9.',
  '1e3',
  '0x10',
  '0b1',
  '9n',
  '1_000',
  '9, 7',
  '',
  ' 9',
  '9 ',
  '9\n',
  '\t9',
  '٣',
  '９',
  'NaN',
  'Infinity',
  '6f1c1b0e-3c1f-4a33-9d0e-2f6f2f3c9f10',
])('%j is no token', (text) => {
  expect(parseToken(text)).toBeUndefined()
})

test('every integer from 1 to 2^63 - 1 is read back exactly, and no other', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }), (value) => {
      expect(parseToken(String(value))).toBe(value >= 1n && value <= MAX_TOKEN ? value : undefined)
    }),
  )
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: MAX_TOKEN }), (value) => {
      expect(parseToken(String(value))).toBe(value)
    }),
  )
})

test('a text that is read as a token is its own canonical spelling', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9.exn_ ]{0,22}$/)), (text) => {
      const token = parseToken(text)
      if (token !== undefined) expect(String(token)).toBe(text)
    }),
  )
})

test('a task is 1 to 256 visible ASCII characters', () => {
  expect(isTask('k')).toBe(true)
  expect(isTask('!~')).toBe(true)
  expect(isTask('x'.repeat(256))).toBe(true)
  for (const text of ['', 'x'.repeat(257), 'a b', 'a\tb', 'a\n', '\u007f', 'é', '\ud83d\ude00']) {
    expect(isTask(text), JSON.stringify(text)).toBe(false)
  }
})
