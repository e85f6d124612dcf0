/** Sealed bodies open under their key, for their operation, unchanged; and not otherwise. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InvariantError } from '../../src/errors.ts'
import { Sealing } from '../../src/journal/sealing.ts'

const sealing = new Sealing(Buffer.alloc(32, 7))
const bytes = fc.uint8Array({ maxLength: 200 })

test('what was sealed opens, and no two sealed bodies are the same', () => {
  const property = fc.property(bytes, fc.string(), (body, operation) => {
    const [one, other] = [sealing.seal(body, operation), sealing.seal(body, operation)]
    expect(one.equals(other)).toBe(false)
    for (const sealed of [one, other]) expect(sealing.open(sealed, operation)).toEqual(Buffer.from(body))
  })
  fc.assert(property)
})

test('nothing of the body is to be seen', () => {
  const body = Buffer.from('{"card":"4242424242424242"}')
  expect(sealing.seal(body, 'op').includes(body.subarray(0, 4))).toBe(false)
})

test('what was sealed by an earlier release opens', () => {
  const sealed = '01c95fc3484368aac31b56905e70c8a5b35ca5c958e8d439b76a5d7a70c91d40fff694dd6159bde28cd9b0d24e'
  expect(sealing.open(Buffer.from(sealed, 'hex'), 'op')).toEqual(Buffer.from('{"id":1}'))
})

test('a store hands out plain bytes, not a Buffer', () => {
  const sealed = new Uint8Array(sealing.seal(Buffer.from('body'), 'op'))
  expect(String(sealing.open(sealed, 'op'))).toBe('body')
})

test('another key is told from damage', () => {
  const sealed = new Sealing(Buffer.alloc(32, 8)).seal(Buffer.from('body'), 'op')
  expect(sealing.open(sealed, 'op')).toBe('other-key')
})

test('a body does not open for another operation', () => {
  const property = fc.property(bytes, fc.string(), fc.string(), (body, one, other) => {
    fc.pre(one !== other)
    expect(sealing.open(sealing.seal(body, one), other)).toBe('damaged')
  })
  fc.assert(property)
})

test('no bit can be changed, and none be missing', () => {
  const sealed = sealing.seal(Buffer.from('body'), 'op')
  for (let bit = 0; bit < sealed.byteLength * 8; bit++) {
    const changed = Buffer.from(sealed)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(sealing.open(changed, 'op')).toBe(bit < 9 * 8 ? 'other-key' : 'damaged')
  }
  for (let length = 0; length < sealed.byteLength; length++) {
    expect(sealing.open(sealed.subarray(0, length), 'op')).toBe('damaged')
  }
})

test('a key of another length is a fault of ours', () => {
  expect(() => new Sealing(Buffer.alloc(16))).toThrow(InvariantError)
})
