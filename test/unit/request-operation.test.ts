/** The key of an operation: each spelling that is one, and each fault with its code. */
import { describe, expect, test } from 'vitest'
import { readOperation } from '../../src/request/operation.ts'
import { CLAIM } from '../support/request-config.ts'

const operationOf = (...rawHeaders: string[]) => readOperation({ rawHeaders }, CLAIM)

function refusalOf(...rawHeaders: string[]) {
  const result = operationOf(...rawHeaders)
  return 'refusal' in result ? result.refusal : undefined
}

const longest = 'k'.repeat(255)

describe('a sound key', () => {
  test.each([
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['"a b, c; d"', 'a b, c; d'],
    [String.raw`"say \"no\" \\ once"`, String.raw`say "no" \ once`],
    [String.raw`a\b`, String.raw`a\b`],
    ['stripe-node-retry-1/2:3?', 'stripe-node-retry-1/2:3?'],
    ['17', '17'],
    ['?1', '?1'],
    [':aGk=:', ':aGk=:'],
    [longest, longest],
    [`"${longest}"`, longest],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ])('%s', (value, key) => {
    expect(operationOf('Host', 'h', 'IDEMPOTENCY-KEY', value)).toEqual({ key })
  })

  test('of another header', () => {
    const { key } = readOperation(
      { rawHeaders: ['X-Operation', 'a', 'Idempotency-Key', 'b'] },
      { operationHeader: 'x-operation' },
    ) as { key: string }
    expect(key).toBe('a')
  })
})

test('a missing key is told apart from a malformed one', () => {
  expect(refusalOf('Host', 'h')).toEqual({
    code: 'operation-required',
    detail: expect.stringContaining('the idempotency-key header is missing'),
  })
})

test.each([
  ['nothing', ''],
  ['an empty string', '""'],
  ['more than 255 characters', `${longest}k`],
  ['more than 255 characters in quotes', `"${longest}k"`],
  ['an open quote', '"a'],
  ['a closing quote alone', 'a"'],
  ['a quote inside', 'a"b'],
  ['an escape that is none', String.raw`"a\b"`],
  ['an escape at its end', '"a\\'],
  ['something behind the string', '"a" b'],
  ['two strings', '"a", "b"'],
  ['two keys', 'a,b'],
  ['two words', 'a b'],
  ['a parameter', '"a";v=1'],
  ['a parameter of a bare key', 'a;v=1'],
  ['a list', '("a" "b")'],
  ['a control character', '"a\tb"'],
  ['a letter beyond ASCII', 'cl\xe9'],
  ['a letter beyond ASCII in quotes', '"cl\xe9"'],
])('%s is no key', (_, value) => {
  const refusal = refusalOf('Idempotency-Key', value)
  expect(refusal?.code).toBe('malformed-operation')
  expect(refusal?.detail).toMatch(/^The idempotency-key header .*\. Nothing was sent\.$/)
  expect(refusal?.detail.length).toBeLessThan(400)
})

const KEY = ['Idempotency-Key', 'a']

test.each([
  ['two keys', [...KEY, 'Idempotency-Key', 'b'], 'more than once'],
  ['one key twice', [...KEY, 'idempotency-key', 'a'], 'more than once'],
  ['a twin beside it', [...KEY, 'Idempotency_Key', 'a'], 'can be taken for'],
  ['a twin alone', ['idempotency_key', 'a'], 'can be taken for'],
  ['nominated for removal', ['Connection', 'close, Idempotency-Key', ...KEY], 'The connection header names'],
  ['promised in the trailer', ['Trailer', 'idempotency-key'], 'The trailer header names'],
])('%s', (_, rawHeaders, part) => {
  const refusal = refusalOf(...rawHeaders)
  expect(refusal?.code).toBe('malformed-operation')
  expect(refusal?.detail).toContain(part)
})
