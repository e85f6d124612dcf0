/**
 * The router against readers written another way: whatever it lets through is the same route and task to
 * each of them, and whatever it calls ambiguous is something else to at least one.
 */
import { posix } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Route } from '../../src/config/config.ts'
import { Router } from '../../src/request/router.ts'
import { routeOf } from '../support/request-config.ts'

const RUNS = Number(process.env.FENCEGATE_PROPERTY_RUNS ?? 4000)

const METHODS = ['GET', 'POST', 'DELETE', 'COPY']
const OVERRIDES = ['X-HTTP-Method-Override', 'x_http_method', 'X-Method-Override']

const NAMES = ['a', 'b', 'k', 'a.b']
/** Weighted towards what is in the templates, so that readings often get there. */
const PIECES = [
  ...NAMES.flatMap((name) => [name, name, `/${name}`, `/${name}/`]),
  ...['/', '/', '/', '//', '/./', '/../', '/..', '/.', '..', '.', '\\', '%'],
  ...['%61', '%6b', '%2e', '%2E%2e', '%2F', '%2f', '%5c', '%5C', '%3f', '%23', '%zz'],
  ...['%252e', '%252f', '%255c', '%2561', '%25252e', '%25', ';'],
]

const templates = fc
  .tuple(
    fc.array(fc.constantFrom(...NAMES), { maxLength: 2 }),
    fc.constantFrom([], [], ['{task}']),
    fc.constantFrom([], [], ['k']),
    fc.constantFrom([], ['*'], ['']),
  )
  .map((segments) => `/${segments.flat().join('/')}`)
const routes = fc
  .array(
    fc.record({
      methods: fc.option(fc.uniqueArray(fc.constantFrom(...METHODS), { minLength: 1 }), { nil: undefined }),
      path: fc.option(templates, { nil: undefined, freq: 8 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((matches) => [...matches, { methods: undefined, path: undefined }].map(toRoute))
const targets = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`)
const overrides = fc.array(fc.tuple(fc.constantFrom(...OVERRIDES), fc.constantFrom(...METHODS)), {
  maxLength: 2,
})

const toRoute = (match: Route['match'], index: number) =>
  routeOf(`route ${index}`, match, (['fence', 'once', 'none'] as const)[index % 3] ?? 'fence')

/** The route and task of one reading, by regular expression. */
function lookUp(routes: readonly Route[], method: string, path: string): { route: Route; task?: string } {
  for (const route of routes) {
    if (route.match.methods?.includes(method) === false) continue
    const template = route.match.path ?? '/*'
    const pattern = template.replaceAll('.', '\\.').replace(/\*$/, '[^]*').replace('{task}', '(?<task>[^/]+)')
    const found = new RegExp(`^${pattern}$`).exec(path)
    const task = found?.groups?.task
    if (found) return task === undefined ? { route } : { route, task }
  }
  throw new Error('unreachable')
}

/** One round of percent-decoding; an escape of `kept` stays. */
function decode(path: string, kept?: string): string {
  const [start, ...parts] = path.split('%') as [string, ...string[]]
  const decoded = parts.map((part) => {
    const character = Buffer.from(part.slice(0, 2), 'hex').toString('latin1')
    return character === '' || character === kept ? `%${part}` : character + part.slice(2)
  })
  return start + decoded.join('')
}

/** RFC 3986, section 5.2.4, to the letter: an input and an output buffer. */
function removeDots(path: string): string {
  let [input, output] = [path, '']
  while (input !== '') {
    if (input.startsWith('/./')) input = input.slice(2)
    else if (input === '/.') input = '/'
    else if (input.startsWith('/../') || input === '/..') {
      input = `/${input.slice(4)}`
      output = output.slice(0, Math.max(0, output.lastIndexOf('/')))
    } else {
      const end = input.indexOf('/', 1) < 0 ? input.length : input.indexOf('/', 1)
      output += input.slice(0, end)
      input = input.slice(end)
    }
  }
  return output
}

/** `//host/path` as URL parsers take it. */
function removeHost(path: string): string {
  if (!path.startsWith('//')) return path
  const host = path.replace(/^\/+/, '')
  return host.includes('/') ? host.slice(host.indexOf('/')) : '/'
}

const READERS: ((path: string) => string)[] = [
  (path) => decode(path),
  (path) => decode(path, '/'),
  (path) =>
    path
      .split('/')
      .map((segment) => segment.split(';')[0])
      .join('/'),
  (path) => path.split('\\').join('/'),
  (path) => path.split(/\/+/).join('/'),
  removeDots,
  (path) => (/\/\.{1,2}$/.test(path) ? removeDots(path).replace(/(?<=.)\/$/, '') : path),
  removeHost,
  (path) => path.split(/[?#]/)[0] as string,
]
/** Everything that chains of readers make of a path. */
function everyReading(path: string): string[] {
  const found = new Set<string>()
  const visit = (reading: string) => {
    if (found.has(reading)) return
    found.add(reading)
    for (const reader of READERS) visit(reader(reading))
  }
  visit(path)
  return [...found]
}

test('accepted exactly if every reading has the same route and task', () => {
  const property = fc.property(
    routes,
    targets,
    fc.constantFrom(...METHODS),
    overrides,
    (routes, target, method, overrides) => {
      const result = new Router(routes).match({ method, target, rawHeaders: overrides.flat() })
      const own = lookUp(routes, method, target)
      const methods = [method, ...overrides.map(([, value]) => value)]
      const templated = routes.some((route) => route.match.path !== undefined)
      const readings = methods.flatMap((method) =>
        (templated ? everyReading(target) : [target]).map((path) => lookUp(routes, method, path)),
      )
      const agreed = readings.every(({ route, task }) => route === own.route && task === own.task)
      if (!agreed) {
        expect(result).toMatchObject({ refusal: { code: 'ambiguous-target' } })
        return
      }
      const { guard, match } = own.route
      const fenced = guard !== 'none' && (match.methods !== undefined || methods.some((m) => m !== 'GET'))
      expect(result).toEqual({ route: own.route, task: own.task, fenced })
    },
  )
  fc.assert(property, { numRuns: RUNS })
})

test('readers from real programs agree with what was accepted', () => {
  const readers: ((path: string) => string)[] = [
    (path) => new URL(path, 'http://resource').pathname,
    (path) => posix.normalize(path),
    (path) => decodeURIComponent(path),
    (path) => path.split('/').map(decodeURIComponent).join('/'),
    (path) => path.replaceAll('\\', '/'),
  ]
  const chains = fc.array(fc.constantFrom(...readers), { minLength: 1, maxLength: 6 })
  const property = fc.property(routes, targets, chains, (routes, target, chain) => {
    const result = new Router(routes).match({ method: 'POST', target, rawHeaders: [] })
    if ('refusal' in result || routes.every((route) => route.match.path === undefined)) return
    let path = target
    try {
      for (const reader of chain) path = reader(path)
    } catch {
      // This chain of readers refuses the path: a host or an escape that is none.
      return
    }
    // A URL parser escapes what it finds bare; whoever looks a name up takes that back.
    const { route, task } = lookUp(routes, 'POST', decode(path))
    expect({ route, task }).toEqual({ route: result.route, task: result.task })
  })
  fc.assert(property, { numRuns: RUNS })
})

test('a target without anything special is never ambiguous', () => {
  const segment = fc.stringMatching(/^[A-Za-z0-9\-_~!$&'()*+,=:@]([A-Za-z0-9\-._~!$&'()*+,=:@]*)$/)
  const plain = fc.array(fc.oneof(fc.constantFrom(...NAMES), segment), { minLength: 1, maxLength: 5 })
  const query = fc.constantFrom('', '?', '?x=/../%2e%2e//\\', '?next=//host/a')
  const property = fc.property(routes, plain, query, (routes, segments, query) => {
    const target = `/${segments.join('/')}${query}`
    expect(new Router(routes).match({ method: 'POST', target, rawHeaders: [] })).toHaveProperty('route')
  })
  fc.assert(property, { numRuns: RUNS })
})

test('without path templates nothing in a path is ambiguous', () => {
  const property = fc.property(targets, fc.constantFrom(...METHODS), (target, method) => {
    const router = new Router([{ methods: undefined, path: undefined }].map(toRoute))
    expect(router.match({ method, target, rawHeaders: [] })).toHaveProperty('fenced', method !== 'GET')
  })
  fc.assert(property, { numRuns: RUNS })
})
