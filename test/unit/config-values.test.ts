/** Spellings that are read and written, and the rule for routes that can never match. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatAddress, parseAddress } from '../../src/config/addresses.ts'
import { describeRoutes } from '../../src/config/describe.ts'
import { nearest } from '../../src/config/faults.ts'
import { loadConfig } from '../../src/config/load.ts'
import { covers, parsePathTemplate } from '../../src/config/path-template.ts'
import {
  formatDuration,
  formatSize,
  parseDuration,
  parseFloor,
  parseMethod,
  parseSize,
} from '../../src/config/values.ts'
import { PathTemplate } from '../../src/request/path-template.ts'

test('durations and sizes are written as they are read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 86_400_000 }), (ms) => {
      expect(parseDuration(formatDuration(ms), 'zero')).toBe(ms)
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1023 }), fc.constantFrom(0, 10, 20, 30), (count, power) => {
      expect(parseSize(formatSize(count * 2 ** power), 1, 2 ** 40)).toBe(count * 2 ** power)
    }),
  )
  expect([90_000, 3_600_000, 60_000, 1500, 0].map(formatDuration)).toEqual([
    '90s',
    '1h',
    '1m',
    '1500ms',
    '0s',
  ])
  expect([512, 16_384, 1 << 20, 2 ** 40].map(formatSize)).toEqual(['512B', '16KiB', '1MiB', '1024GiB'])
})

test.each([
  '127.0.0.1:8470',
  '0.0.0.0:0',
  '[::1]:80',
  '[::]:65535',
  'localhost:1',
  'fencegate-1.svc_a.local:9',
])('an address is written as it is read: %s', (text) => expect(formatAddress(parseAddress(text))).toBe(text))

test('methods are any upper-case token', () => {
  for (const method of ['POST', 'M-SEARCH', 'X_1', 'PROPPATCH']) expect(parseMethod(method)).toBe(method)
})

test('a floor is 0 or a token, exactly', () => {
  expect(parseFloor('0')).toBe(0n)
  expect(parseFloor('9007199254740993')).toBe(9007199254740993n)
  for (const text of ['', '00', '-1', '1e3', '9223372036854775808']) {
    expect(() => parseFloor(text)).toThrow('is not a floor')
  }
})

test('the nearest key is close, or none is', () => {
  expect(nearest('upstrem', ['listen', 'upstream'])).toBe('upstream')
  expect(nearest('HEADSIZE', ['headSize', 'headTimeout'])).toBe('headSize')
  expect(nearest('handover', ['name', 'match', 'guard'])).toBeUndefined()
})

const template = fc
  .tuple(
    fc.array(fc.constantFrom('a', 'b', '{task}'), { maxLength: 3 }),
    fc.constantFrom('', '*', 'a', '{task}'),
  )
  .map(([segments, last]) => `/${[...segments, last].join('/')}`)
  .filter((path) => path.split('{task}').length <= 2)
const requestPath = fc
  .array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 })
  .chain((segments) => fc.constantFrom(`/${segments.join('/')}`, `/${segments.map((s) => `${s}/`).join('')}`))

test('what a template covers, it matches', () => {
  fc.assert(
    fc.property(template, template, requestPath, (earlier, later, path) => {
      expect(parsePathTemplate(earlier)).toBe(earlier)
      fc.pre(new PathTemplate(later).matches(path))
      const covered = covers({ methods: undefined, path: earlier }, { methods: undefined, path: later })
      expect(!covered || new PathTemplate(earlier).matches(path)).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test.each([
  [undefined, undefined, undefined, undefined, true],
  [undefined, '/*', undefined, undefined, true],
  [['PUT'], undefined, undefined, undefined, false],
  [['PUT', 'POST'], undefined, ['PUT'], '/a', true],
  [['PUT'], undefined, ['PUT', 'POST'], '/a', false],
  [undefined, '/a/*', undefined, '/a/b/c', true],
  [undefined, '/a/*', undefined, '/a', false],
  [undefined, '/a/{task}', undefined, '/a/b', true],
  [undefined, '/a/b', undefined, '/a/{task}', false],
  [undefined, '/a/{task}', undefined, '/a/*', false],
  [undefined, '/a/{task}', undefined, '/a/', false],
  [undefined, '/a/b', undefined, undefined, false],
])('%j %s covers %j %s: %s', (methods, path, laterMethods, laterPath, expected) => {
  expect(covers({ methods, path }, { methods: laterMethods, path: laterPath })).toBe(expected)
})

test('routes are described in words', () => {
  const { config } = loadConfig({ env: {}, flags: { upstream: 'http://a:1' } })
  const [route] = config.routes
  if (!route) throw new Error('there is no default route')
  const routes = [
    { ...route, name: 'a', match: { methods: ['GET', 'PUT'], path: '/a/{task}' } },
    { ...route, name: 'b', match: { methods: undefined, path: '/b' }, mode: 'observe' as const },
    { ...route, name: 'c', guard: 'none' as const },
    route,
  ]
  expect(describeRoutes(config)).toEqual([
    'default: every other request to http://a:1: fenced (GET, HEAD and OPTIONS need no token); ' +
      'the task is in fencing-task, the token in fencing-token',
  ])
  expect(describeRoutes({ ...config, routes })).toEqual([
    'a: GET, PUT on /a/{task} to http://a:1: fenced; the task is in the path, the token in fencing-token',
    'b: every method on /b to http://a:1: not fenced, only observed (GET, HEAD and OPTIONS need no token): ' +
      'what would be refused is forwarded and counted; the task is in fencing-task, the token in fencing-token',
    'c: every other request to http://a:1: not fenced, needs no token',
    'default: never reached, c takes every request',
  ])
})
