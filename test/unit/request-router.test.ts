import { describe, expect, test } from 'vitest'
import type { Route, RouteMatch } from '../../src/config/config.ts'
import { Router } from '../../src/request/router.ts'
import { routeOf } from '../support/request-config.ts'

const route = (name: string, match: Partial<RouteMatch> = {}, guard: Route['guard'] = 'fence') =>
  routeOf(name, { methods: undefined, path: undefined, ...match }, guard)

/** `name`, `name task`, or the code of the refusal; with `+` where a permit is needed. */
function verdict(router: Router, method: string, target: string, ...rawHeaders: string[]): string {
  const result = router.match({ method, target, rawHeaders })
  if ('refusal' in result) return result.refusal.code
  const { route, task, fenced } = result
  return `${route.name}${task === undefined ? '' : ` ${task}`}${fenced ? ' +' : ''}`
}

function detail(router: Router, method: string, target: string, ...rawHeaders: string[]): string {
  const result = router.match({ method, target, rawHeaders })
  return 'refusal' in result ? result.refusal.detail : 'no refusal'
}

const plain = new Router([route('default')])
const settlements = new Router([
  route('settlements', { path: '/settlements/{task}/*' }),
  route('health', { path: '/health' }, 'none'),
  route('files', { path: '/files/*' }),
  route('kv', { path: '/kv/{task}' }),
  route('default'),
])

describe('the form of a target', () => {
  test.each([
    ['http://10.0.0.1/x', 'ambiguous-target'],
    ['HTTP://10.0.0.1/x', 'ambiguous-target'],
    ['10.0.0.1:80', 'ambiguous-target'],
    ['*', 'ambiguous-target'],
    ['', 'ambiguous-target'],
    ['x', 'ambiguous-target'],
    ['?x', 'ambiguous-target'],
    ['\\x', 'ambiguous-target'],
    ['%2fx', 'ambiguous-target'],
    ['/x#y', 'ambiguous-target'],
    ['/x?y#z', 'ambiguous-target'],
    ['/', 'default +'],
    ['//', 'default +'],
    ['//10.0.0.1/x', 'default +'],
    ['/\\host/x', 'default +'],
    ['/http://10.0.0.1/x', 'default +'],
    ['/x?http://10.0.0.1/', 'default +'],
  ])('%s is %s', (target, expected) => {
    expect(verdict(plain, 'PUT', target)).toBe(expected)
    expect(verdict(settlements, 'PUT', target)).toBe(expected)
  })

  test('OPTIONS * is refused, too', () => {
    expect(verdict(plain, 'OPTIONS', '*')).toBe('ambiguous-target')
  })
})

describe('templates', () => {
  test.each([
    ['/settlements/k/', 'settlements k +'],
    ['/settlements/k/a/b', 'settlements k +'],
    ['/settlements/k/a?x=/health', 'settlements k +'],
    ['/settlements/k', 'default +'],
    ['/settlements/k?/', 'default +'],
    ['/settlements//', 'default +'],
    ['/settlements', 'default +'],
    ['/Settlements/k/a', 'default +'],
    ['/x/settlements/k/a', 'default +'],
    ['/health', 'health'],
    ['/health?deep', 'health'],
    ['/health/', 'default +'],
    ['/healthy', 'default +'],
    ['/files/', 'files +'],
    ['/files/b/c', 'files +'],
    ['/files', 'default +'],
    ['/kv/k', 'kv k +'],
    ['/kv/k?v=1', 'kv k +'],
    ['/kv/', 'default +'],
    ['/kv/k/', 'default +'],
    ["/kv/ab=c,d:e@f!$&'()*+", "kv ab=c,d:e@f!$&'()*+ +"],
  ])('PUT %s is %s', (target, expected) => {
    expect(verdict(settlements, 'PUT', target)).toBe(expected)
  })

  test('the first route that matches wins', () => {
    const router = new Router([
      route('one', { path: '/a/b' }),
      route('two', { path: '/a/*' }),
      route('three', { path: '/a/{task}' }),
      route('default'),
    ])
    expect(verdict(router, 'PUT', '/a/b')).toBe('one +')
    expect(verdict(router, 'PUT', '/a/c')).toBe('two +')
  })

  test('a table whose last route does not match everything is a fault', () => {
    expect(() => new Router([])).toThrow('last route')
    expect(() => new Router([route('a', { path: '/a' })])).toThrow('last route')
    expect(() => new Router([route('a', { methods: ['PUT'] })])).toThrow('last route')
  })
})

describe('ambiguous paths', () => {
  test.each([
    // Another route once decoded: once, twice, five times.
    '/settlement%73/k/a',
    '/settlements%2Fk/a',
    '/settlements%2fk%2fa',
    '/settlements%252Fk/a',
    '/settlements%252525252Fk/a',
    '/%68ealth',
    // ... by readers that keep %2F within a segment.
    '/%6bv/a%2fb',
    // Dot segments, plain and escaped, RFC 3986 and file-path style.
    '/files/../settlements/k/a',
    '/files/./../health',
    '/files/%2e%2E/settlements/k/a',
    '/files/.%2e/health',
    '/files/%252e%252e/health',
    '/health/x/..',
    '/health/.',
    '/settlements/k/..',
    // Slashes merged, before or after the dots.
    '//settlements/k/a',
    '/settlements//k/a',
    '/x//../settlements/k/a',
    '/x//../health',
    // A backslash read as a slash.
    '/settlements\\k\\a',
    '/settlements/k\\a',
    '/files/..\\health',
    '/files/%5c..%5c..%5chealth',
    '/files/..%255c..%255chealth',
    // A host and a path, to a URL parser.
    '//10.0.0.1/health',
    '/\\host/health',
    '///host/settlements/k/a',
    // A query or fragment, to readers that decode first.
    '/health%3Fx',
    '/health%23x',
    // Another task.
    '/settlements/k%31/a',
    '/settlements/k%2f/a',
    '/settlements/k/../j/a',
    '/settlements/k/%2e%2e/j/a',
    '/settlements/k/b/..%2f..%2fj/a',
    '/settlements/k//../../j/a',
    '/settlements/%2e/j/a',
    '/settlements/./j/a',
    '/kv/k%20x',
  ])('%s is refused', (target) => {
    for (const method of ['PUT', 'GET']) {
      expect(verdict(settlements, method, target)).toBe('ambiguous-target')
      expect(verdict(settlements, method, `${target}?q=1`)).toBe('ambiguous-target')
    }
    expect(verdict(plain, 'PUT', target)).toBe('default +')
  })

  test.each([
    ['/settlements/k/a%2Fb', 'settlements k +'],
    ['/settlements/k/a//b', 'settlements k +'],
    ['/settlements/k/a/../b', 'settlements k +'],
    ['/settlements/k/caf%C3%A9', 'settlements k +'],
    ['/settlements/k/a?x=%2F..%2F..//\\', 'settlements k +'],
    ['/settlements/k/..a/.b/c..', 'settlements k +'],
    ['/settlements/k%zz/a', 'settlements k%zz +'],
    ['/settlements/k%/a', 'settlements k% +'],
    ['/settlements/..k/a', 'settlements ..k +'],
    ['/settlements/.k./a', 'settlements .k. +'],
    ['/files/%41%2F%5c..%2e', 'files +'],
    ['/files/100%', 'files +'],
    ['/other/a%2Fb//c/./d\\e', 'default +'],
    ['//10.0.0.1/x', 'default +'],
    ['/.well-known/x', 'default +'],
    ['/x?/../health', 'default +'],
  ])('%s is %s', (target, expected) => {
    expect(verdict(settlements, 'PUT', target)).toBe(expected)
  })

  test('a path with more readings than are looked at is refused', () => {
    const hostile = `/files/${'//%2e\\%252f/../'.repeat(1000)}`
    expect(detail(settlements, 'PUT', hostile)).toContain('more ways than are looked at')
    expect(verdict(plain, 'PUT', hostile)).toBe('default +')
  })

  test('the message names both readings, and no more of a hostile path than 64 characters', () => {
    expect(detail(settlements, 'PUT', '/x/../health')).toBe(
      'As received the path is route "default", but once decoded or normalised it is route "health"; ' +
        'nothing was sent. Send it in its plain form: no escapes, dot segments, doubled slashes or ' +
        'backslashes where they decide the route or the task.',
    )
    const long = detail(settlements, 'PUT', `/settlements/${'k'.repeat(5000)}%31/a`)
    expect(long).toContain(`with task "${'k'.repeat(64)}..."`)
    expect(long.length).toBeLessThan(500)
  })
})

describe('which requests are fenced', () => {
  const router = new Router([
    route('listed', { methods: ['GET', 'POST'], path: '/listed/*' }),
    route('unguarded', { methods: ['POST', 'DELETE'], path: '/unguarded/*' }, 'none'),
    route('any', { path: '/any/{task}' }),
    route('once', { path: '/once/{task}' }, 'once'),
    route('default'),
  ])
  test.each([
    ['GET', '/x', 'default'],
    ['HEAD', '/x', 'default'],
    ['OPTIONS', '/x', 'default'],
    ['POST', '/x', 'default +'],
    ['COPY', '/x', 'default +'],
    ['PROPPATCH', '/x', 'default +'],
    ['MKCOL', '/x', 'default +'],
    ['QUERY', '/x', 'default +'],
    ['BREW', '/x', 'default +'],
    ['get', '/x', 'default +'],
    ['GET', '/any/k', 'any k'],
    ['PUT', '/any/k', 'any k +'],
    ['GET', '/once/k', 'once k'],
    ['PUT', '/once/k', 'once k +'],
    // A route that lists its methods fences each of them.
    ['GET', '/listed/x', 'listed +'],
    ['POST', '/listed/x', 'listed +'],
    ['PUT', '/listed/x', 'default +'],
    ['HEAD', '/listed/x', 'default'],
    ['POST', '/unguarded/x', 'unguarded'],
    ['PUT', '/unguarded/x', 'default +'],
    // A lower-case method may be taken for its upper case.
    ['post', '/listed/x', 'ambiguous-target'],
  ])('%s %s is %s', (method, target, expected) => {
    expect(verdict(router, method, target)).toBe(expected)
  })

  test.each([
    ['X-HTTP-Method-Override', 'DELETE', 'default +'],
    ['x-http-method-override', 'delete', 'default +'],
    ['X-HTTP-METHOD', ' Patch ', 'default +'],
    ['X-Method-Override', 'PUT', 'default +'],
    ['X_HTTP_Method_Override', 'DELETE', 'default +'],
    ['x_method-override', 'DELETE', 'default +'],
    ['X-Http-Method', 'HEAD, DELETE', 'default +'],
    ['X-Http-Method', 'nonsense', 'default +'],
    ['X-Http-Method', 'HEAD', 'default'],
    ['X-Http-Method', 'get', 'default'],
    ['X-Http-Method', '', 'default'],
    ['X-Http-Method', ' , ,', 'default'],
    ['X-Http-Methods', 'DELETE', 'default'],
    ['X-Method', 'DELETE', 'default'],
  ])('GET with %s: %s is %s', (name, value, expected) => {
    expect(verdict(router, 'GET', '/x', 'Host', 'h', name, value, 'Accept', '*/*')).toBe(expected)
  })

  test('each of several overrides counts', () => {
    const twice = ['X-HTTP-Method', 'GET', 'X-HTTP-Method', 'DELETE']
    expect(verdict(router, 'GET', '/x', ...twice)).toBe('default +')
    expect(verdict(router, 'GET', '/x', 'X-HTTP-Method', 'GET', 'X-Method-Override', 'PUT')).toBe('default +')
    expect(verdict(router, 'GET', '/x', 'X-Method-Override', 'PUT', 'X-HTTP-Method', 'GET')).toBe('default +')
  })

  test('a write stays one, whatever read an override names', () => {
    expect(verdict(router, 'POST', '/x', 'X-HTTP-Method-Override', 'GET')).toBe('default +')
  })

  test('an override that leads to another route is refused, and named as the cause', () => {
    expect(verdict(router, 'PUT', '/unguarded/x', 'X-HTTP-Method', 'DELETE')).toBe('ambiguous-target')
    expect(verdict(router, 'POST', '/unguarded/x', 'X-HTTP-Method', 'DELETE')).toBe('unguarded')
    expect(verdict(router, 'POST', '/unguarded/x', 'X-HTTP-Method', 'DELETE, PUT')).toBe('ambiguous-target')
    expect(detail(router, 'POST', '/unguarded/x', 'X_HTTP_Method', 'PUT')).toContain(
      'the x-http-method header may make it route "default"',
    )
  })

  test('an override counts on every reading of the path', () => {
    const deletes = new Router([route('deletes', { methods: ['DELETE'], path: '/a' }), route('default')])
    expect(verdict(deletes, 'POST', '/x/../a')).toBe('default +')
    expect(verdict(deletes, 'POST', '/x/../a', 'X-HTTP-Method', 'DELETE')).toBe('ambiguous-target')
  })

  test('without path templates an override still chooses among routes', () => {
    const byMethod = new Router([route('deletes', { methods: ['DELETE'] }), route('default', {}, 'none')])
    expect(verdict(byMethod, 'GET', '/%2e%2e/x', 'X-HTTP-Method', 'DELETE')).toBe('ambiguous-target')
    expect(verdict(byMethod, 'GET', '/%2e%2e/x', 'X-HTTP-Method', 'PUT')).toBe('default')
  })

  test('more methods than an honest request names are refused', () => {
    const many = Array.from({ length: 9 }, (_, i) => `M${i}`).join()
    expect(verdict(router, 'GET', '/x', 'X-HTTP-Method', many)).toBe('ambiguous-target')
    expect(verdict(router, 'GET', '/x', 'X-HTTP-Method', 'PUT,'.repeat(1000))).toBe('default +')
  })
})

describe('the destination of a COPY or MOVE', () => {
  const copy = (target: string, ...destination: string[]) =>
    verdict(settlements, 'COPY', target, ...destination.flatMap((one) => ['Destination', one]))

  test('within the task it is no matter', () => {
    expect(copy('/settlements/42/a', 'http://files.example/settlements/42/b')).toBe('settlements 42 +')
    expect(copy('/settlements/42/a', '/settlements/42/b?x#y')).toBe('settlements 42 +')
    expect(copy('/other/a', 'https://[::1]:8443/another/b')).toBe('default +')
  })

  test.each([
    'http://files.example/settlements/43/b',
    '/settlements/43/b',
    '/files/b',
    '/other/b',
    'http://files.example/settlements/42/../43/b',
    '/settlements/42%2f..%2f43/b',
    '//files.example/settlements/43/b',
    'http://files.example',
    'settlements/42/b',
    '',
    'mailto:a@b',
  ])('%s is another one, or none', (destination) => {
    expect(copy('/settlements/42/a', destination)).toBe('ambiguous-target')
  })

  test('every field counts, whatever its spelling and the method', () => {
    const [same, other] = ['/settlements/42/b', '/settlements/43/b']
    expect(copy('/settlements/42/a', same, same)).toBe('settlements 42 +')
    expect(copy('/settlements/42/a', same, other)).toBe('ambiguous-target')
    expect(verdict(settlements, 'X-MOVE', '/settlements/42/a', 'DESTINATION', other)).toBe('ambiguous-target')
    expect(detail(settlements, 'MOVE', '/settlements/42/a', 'Destination', other)).toContain(
      'route "settlements" with task "42", but its Destination, X-Original-URL or X-Rewrite-URL is route "settlements" with task "43"',
    )
  })

  test.each(['X-Original-URL', 'X-Rewrite-URL', 'x_original_url'])('%s is one more target', (field) => {
    const path = '/settlements/43/b'
    expect(verdict(settlements, 'POST', '/health', field, path)).toBe('ambiguous-target')
    expect(verdict(settlements, 'POST', '/settlements/42/a', field, path)).toBe('ambiguous-target')
    expect(verdict(settlements, 'POST', path, field, path)).toBe('settlements 43 +')
  })

  test('what a method-override header names may lead elsewhere by it', () => {
    const writes = new Router([
      route('writes', { methods: ['MOVE', 'PUT'], path: '/{task}/*' }),
      route('default'),
    ])
    const by = (method: string, ...fields: string[]) => verdict(writes, method, '/x', ...fields)
    expect(by('POST', 'X-HTTP-Method', 'MOVE', 'Destination', '/7/y')).toBe('ambiguous-target')
    expect(by('GET', 'X-Original-URL', '/7/y', 'X-HTTP-Method', 'PUT')).toBe('ambiguous-target')
    expect(by('move', 'Destination', '/7/y')).toBe('ambiguous-target')
    expect(by('POST', 'X-HTTP-Method', 'COPY', 'Destination', '/7/y')).toBe('default +')
  })

  test('without path templates there is nothing to tell apart', () => {
    expect(verdict(plain, 'COPY', '/a', 'Destination', 'anywhere')).toBe('default +')
  })
})
