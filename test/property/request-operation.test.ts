/** The key of an operation is read exactly, and no arrangement of headers makes two keys out of one request. */
import fc from 'fast-check'
import { serializeItem } from 'structured-headers'
import { expect, test } from 'vitest'
import { readOperation } from '../../src/request/operation.ts'
import { CLAIM } from '../support/request-config.ts'

const RUNS = Number(process.env.FENCEGATE_PROPERTY_RUNS ?? 4000)

const HEADER = 'idempotency-key'
const operationOf = (rawHeaders: readonly string[]) => readOperation({ rawHeaders }, CLAIM)

const visible = (from: number) =>
  fc.string({
    unit: fc.integer({ min: from, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 255,
  })
const names = fc.mixedCase(fc.constant(HEADER))
const others = fc.array(
  fc.tuple(
    fc.constantFrom('Host', 'Connection', 'Trailer', 'X-Idempotency-Key'),
    fc.constantFrom('a', 'b, c', ''),
  ),
  { maxLength: 4 },
)

test('every printable key arrives as it is in quotes, and bare if it has no mark of a structured field', () => {
  const property = fc.property(names, visible(0x20), others, (name, key, around) => {
    expect(operationOf([...around.flat(), name, serializeItem(key)])).toEqual({ key })
    const bare = operationOf([name, key, ...around.flat()])
    if (!/[ ",;]/.test(key)) expect(bare).toEqual({ key })
    // Only a string in quotes reads as a key all the same: as what is in them.
    else if ('key' in bare) expect(serializeItem(bare.key)).toBe(key.trim())
    else expect(bare.refusal.code).toBe('malformed-operation')
  })
  fc.assert(property, { numRuns: RUNS })
})

test('two fields are refused, whatever their names, values and places', () => {
  const field = fc.tuple(
    fc.tuple(names, fc.boolean()).map(([name, twin]) => (twin ? name.replace('-', '_') : name)),
    fc.oneof(
      visible(0x21),
      visible(0x20).map((key) => serializeItem(key)),
    ),
  )
  const property = fc.property(field, field, others, (one, other, between) => {
    expect(operationOf([...one, ...between.flat(), ...other])).toHaveProperty(
      'refusal.code',
      'malformed-operation',
    )
  })
  fc.assert(property, { numRuns: RUNS })
})

test('any value at all: a key is sound, or it is refused with a short message', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.string({ unit: fc.constantFrom('"', '\\', 'a', ',', ';', ' ', '='), maxLength: 12 }),
    fc.string({ unit: fc.constantFrom('"', '\\', 'a'), maxLength: 600 }).map((text) => `"${text}"`),
  )
  const property = fc.property(anything, (value) => {
    const result = operationOf(['Idempotency-Key', value])
    if ('key' in result) {
      expect(result.key).toMatch(/^[\x20-\x7e]{1,255}$/)
      // There is one way to write it in quotes, and at most one without.
      expect([result.key, serializeItem(result.key)]).toContain(value.trim())
    } else {
      expect(result.refusal.code).toBe('malformed-operation')
      // 64 characters of the client's, each escaped to six at most.
      expect(result.refusal.detail.length).toBeLessThan(700)
    }
  })
  fc.assert(property, { numRuns: RUNS })
})
