/** Tokens are read exactly, and no arrangement of headers makes two claims out of one request. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Route } from '../../src/config/config.ts'
import { readClaim } from '../../src/request/claim.ts'
import { isTask, MAX_TOKEN, parseToken } from '../../src/token.ts'
import { CLAIM } from '../support/request-config.ts'

const RUNS = Number(process.env.FENCEGATE_PROPERTY_RUNS ?? 4000)

const matched = { route: {} as Route, fenced: true, task: undefined }

function claimOf(headers: readonly (readonly [string, string])[]) {
  return readClaim({ method: 'PUT', target: '/', rawHeaders: headers.flat() }, matched, CLAIM)
}

type Header = [string, string]

const tokens = fc.bigInt({ min: 1n, max: MAX_TOKEN })
/** The name in any case. */
const spellings = (name: string) =>
  fc.mixedCase(fc.constant(name.toLowerCase()), { toggleCase: (c) => c.toUpperCase() })
/** The name in any case, and with any `-` as `_`. */
const lookAlikes = (name: string) =>
  fc.tuple(spellings(name), fc.boolean()).map(([name, twin]) => (twin ? name.replace('-', '_') : name))
const headerOf = (names: fc.Arbitrary<string>, values: fc.Arbitrary<string>): fc.Arbitrary<Header> =>
  fc.tuple(names, values)

const others = fc.array(
  headerOf(
    fc.constantFrom('Host', 'Accept', 'Content-Length', 'Connection', 'Trailer', 'X-Fencing-Token'),
    fc.constantFrom('7', 'close', 'keep-alive, x-fencing-token', 'fencing-tokens', ''),
  ),
  { maxLength: 6 },
)
const taskHeaders = headerOf(spellings('fencing-task'), fc.stringMatching(/^[!-+\--~]{1,256}$/))
const tokenHeaders = headerOf(spellings('fencing-token'), tokens.map(String))

const shuffled = (...parts: fc.Arbitrary<Header[]>[]): fc.Arbitrary<Header[]> =>
  fc.tuple(...parts).chain((lists) => fc.shuffledSubarray(lists.flat(), { minLength: lists.flat().length }))

const one = (header: fc.Arbitrary<Header>) => header.map((header) => [header])

test('a token is read as it was printed, and in no other spelling', () => {
  const property = fc.property(tokens, (token) => {
    const text = String(token)
    expect(parseToken(text)).toBe(token)
    for (const other of [`0${text}`, `+${text}`, `${text} `, `${text}.0`, `${text}n`, `-${text}`]) {
      expect(parseToken(other)).toBeUndefined()
    }
    expect(parseToken(String(token + MAX_TOKEN))).toBeUndefined()
  })
  fc.assert(property, { numRuns: RUNS })
})

test('whatever text is read as a token is its print', () => {
  const texts = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'0123456789') }),
    fc.string({ unit: fc.constantFrom(...'0123456789+-.exn ,_\t') }),
    fc.string({ unit: 'binary' }),
  )
  const property = fc.property(texts, (text) => {
    const token = parseToken(text)
    if (token !== undefined) expect(String(token)).toBe(text)
  })
  fc.assert(property, { numRuns: RUNS })
})

test('one task and one token are a claim, wherever they stand', () => {
  const property = fc.property(shuffled(one(taskHeaders), one(tokenHeaders), others), (headers) => {
    const sent = (name: string) => headers.find(([other]) => other.toLowerCase() === name)?.[1]
    expect(claimOf(headers)).toEqual({
      claim: { task: sent('fencing-task'), token: BigInt(sent('fencing-token') as string) },
    })
  })
  fc.assert(property, { numRuns: RUNS })
})

test('a token or task beside the first, or two holders, are refused, whatever they hold', () => {
  const extras = fc
    .constantFrom('fencing-token', 'fencing-task', 'fencing-holder')

    .chain((name) =>
      fc.array(headerOf(lookAlikes(name), fc.constantFrom('9', 'k', '')), {
        minLength: name === 'fencing-holder' ? 2 : 1,
        maxLength: 3,
      }),
    )
  const property = fc.property(shuffled(one(taskHeaders), one(tokenHeaders), extras, others), (headers) => {
    expect(claimOf(headers)).toHaveProperty('refusal.code', expect.stringMatching(/^malformed-/))
  })
  fc.assert(property, { numRuns: RUNS })
})

test('a claim that a hop may drop or replace is refused', () => {
  const lists = headerOf(
    fc.constantFrom('Connection', 'connection', 'TRAILER', 'Trailer'),
    fc
      .tuple(
        fc.array(fc.constantFrom('close', 'x', ' ', ''), { maxLength: 3 }),
        lookAlikes('fencing-token'),
        fc.constantFrom('', ' ', '\t'),
        fc.array(fc.constantFrom('close', 'te', ''), { maxLength: 2 }),
      )
      .map(([before, name, space, after]) => [...before, `${space}${name}${space}`, ...after].join()),
  )
  const property = fc.property(
    shuffled(one(taskHeaders), one(tokenHeaders), one(lists), others),
    (headers) => {
      expect(claimOf(headers)).toHaveProperty('refusal.code', 'malformed-token')
    },
  )
  fc.assert(property, { numRuns: RUNS })
})

test('any headers at all: a claim is sound, or it is refused with a short message', () => {
  const anything = fc.array(
    headerOf(
      fc.oneof(lookAlikes('fencing-token'), lookAlikes('fencing-task'), fc.constantFrom('Connection', 'X')),
      fc.oneof(tokens.map(String), fc.string({ unit: 'binary', maxLength: 400 }), fc.constant('k')),
    ),
    { maxLength: 4 },
  )
  const property = fc.property(anything, (headers) => {
    const result = claimOf(headers)
    if ('refusal' in result) {
      expect(result.refusal.code).toMatch(/^(malformed-(token|task)|token-required)$/)
      // 64 characters of the client's, each escaped to six at most, twice.
      expect(result.refusal.detail.length).toBeLessThan(1200)
    } else {
      expect(isTask(result.claim.task)).toBe(true)
      expect(headers.filter(([name]) => name.toLowerCase() === 'fencing-token')).toEqual([
        [expect.any(String), String(result.claim.token)],
      ])
    }
  })
  fc.assert(property, { numRuns: RUNS })
})
