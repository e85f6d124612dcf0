/**
 * The OpenAPI document: well formed, of every route, and true. What is answered is what the document says, nothing of
 * what a route gives is left out on the way, and nothing else gets through.
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'
import { beforeAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { AdminRig, TOKEN } from '../support/admin.ts'
import { type Document, faultsOf, type Operation } from '../support/openapi.ts'

const { config } = loadConfig({ env: {}, flags: { upstream: 'http://127.0.0.1:9200' } })
const ajv = new Ajv2020({ strict: true, strictSchema: true, allErrors: true })
ajv.addVocabulary(['example'])

const rig = new AdminRig(config)
const servers: Record<'admin port' | 'control socket', FastifyInstance> = {
  'admin port': await rig.adminServer(),
  'control socket': await rig.socketServer(),
}
/** What routes gave, before it was written. */
const given: { url: string; status: number; payload: unknown }[] = []
for (const server of Object.values(servers)) {
  server.addHook('preSerialization', async (request, reply, payload) => {
    given.push({ url: request.routeOptions.url as string, status: reply.statusCode, payload })
  })
}

interface Call {
  readonly method: 'GET' | 'POST'
  readonly route: string
  readonly url?: string
  readonly body?: object
  readonly status?: number
}
const reason = 'INC-7'
const act = (act: string, body: object = {}, status = 200, task = 'T'): Call => ({
  method: 'POST',
  route: `/v1/tasks/{task}/${act}`,
  url: `/v1/tasks/${task}/${act}`,
  body: { reason, ...body },
  status,
})
const get = (route: string, query = '', url = route): Call => ({ method: 'GET', route, url: url + query })

const CALLS: readonly Call[] = [
  get('/v1/status'),
  get('/v1/config'),
  get('/v1/store'),
  get('/v1/openapi.json'),
  get('/v1/tasks'),
  ...['open', 'pending', 'frozen'].map((state) => get('/v1/tasks', `?state=${state}`)),
  get('/v1/tasks/{task}', '', '/v1/tasks/T'),
  get('/v1/tasks/{task}', '', '/v1/tasks/nobody'),
  get('/v1/unknown'),
  get('/v1/operations'),
  get('/v1/attempts'),
  get('/v1/journal'),
  get('/v1/journal', '?order=newest&kind=act&limit=3'),
  { ...get('/v1/journal', '?limit=0'), status: 400 },
  act('freeze'),
  act('thaw', { token: '7' }),
  act('raise', { token: '10' }, 200, 'R'),
  act('raise', { token: '1' }, 409, 'R'),
  act('fence', { token: '7' }, 200, 'Y'),
  act('erase', {}, 409),
  act('reset', { to: '5' }, 409),
  act('reset', { to: '5' }, 200, 'P'),
  { method: 'POST', route: '/v1/retire', body: { reason, prefix: 'x', idleMs: 3_600_000, floor: '4' } },
  {
    ...{ method: 'POST', route: '/v1/unknown/{id}/resolve', url: '/v1/unknown/none/resolve', status: 404 },
    body: { reason, resolution: 'applied' },
  },
]

let documents: Record<string, Document>

beforeAll(async () => {
  rig.inForce = {
    ...rig.inForce,
    file: '/etc/fencegate.yaml',
    lastReload: { atMs: 1, cause: 'SIGHUP', result: 'refused', message: 'because' },
  }
  const held = await rig.begun('T', 7n, { intent: true, holds: true })
  held.release({ outcome: 'unknown', reason: 'timeout', bytesSent: 3 })
  await rig.begun('T', 7n)
  await rig.begun('Y', 7n)
  await rig.operator.raise('P', { by: 'ana', reason }, 9n)
  await rig.operator.freeze('P', { by: 'ana', reason })
  await rig.store.commit([
    {
      kind: 'journal',
      entries: [
        {
          kind: 'rejection',
          task: 'T',
          token: 6n,
          atMs: 1,
          data: { code: 'stale-token', list: [{ a: null }] },
        },
        { kind: 'dropped', task: undefined, token: undefined, atMs: 1, data: { count: 3 } },
      ],
    },
  ])
  await rig.gate.operate('F', (record) => ({
    changes: [{ kind: 'frozen', task: 'F', frozen: true }],
    after: { ...record, frozen: true },
  }))
  const entries = await Promise.all(
    Object.entries(servers).map(async ([name, server]) => {
      return [name, (await server.inject('/v1/openapi.json')).json()] as const
    }),
  )
  documents = Object.fromEntries(entries)
})

/** `GET /v1/tasks/{task}`, of each route that the server has. */
function routesOf(server: FastifyInstance): string[] {
  const stack: string[] = []
  return server
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', segment = '', methods] = /^([│ ]*)[├└]── (.+?) \(([A-Z, ]+)\)$/.exec(line) ?? []
      if (methods === undefined) return []
      stack.length = indent.length / 4
      stack.push(segment)
      const url = stack.join('').replaceAll(/:(\w+)/g, '{$1}')
      return methods.split(', ').map((method) => `${method} ${url}`)
    })
}

describe.each(Object.keys(servers) as (keyof typeof servers)[])('on the %s', (name) => {
  const server = servers[name]

  test('the document is well formed', () => {
    const document = documents[name] as Document
    expect(document.openapi).toBe('3.1.0')
    expect(faultsOf(document)).toEqual([])
  })

  test('it has every route under /v1, with its answers, and no other', () => {
    const document = documents[name] as Document
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const served = routesOf(server).filter((route) => /^(GET|POST) \/(v1\/|livez|readyz|metrics)/.test(route))
    expect(served.length).toBeGreaterThan(15)
    expect(documented.filter((route) => !route.startsWith('HEAD')).sort()).toEqual(served.sort())
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        const needed = !path.startsWith('/v1/')
          ? ['200']
          : method === 'get'
            ? ['200', '400', '401', '403', '421', '429', '500', '503']
            : ['200', '400', '401', '403', '404', '409', '413', '415', '429', '500', '503']
        expect(Object.keys(responses), `${method} ${path}`).toEqual(expect.arrayContaining(needed))
      }
    }
  })

  test.each(CALLS.map((call) => [`${call.method} ${call.url ?? call.route}`, call] as const))(
    'the answer to %s is as the document says, and whole',
    async (_, { method, route, url = route, body, status = 200 }) => {
      const by = name === 'control socket' && body ? { by: 'ana' } : {}
      given.length = 0
      const answer = await server.inject({
        ...{ method, url, headers: { authorization: `Bearer ${TOKEN}` } },
        ...(body && { payload: { ...body, ...by } }),
      })
      expect([answer.statusCode, answer.body]).toEqual([status, expect.any(String)])
      const operation = documents[name]?.paths[route]?.[method.toLowerCase()] as Operation
      const schema = operation.responses[String(status)]?.content?.['application/json']?.schema as object
      const validate = ajv.compile(schema)
      expect([validate(answer.json()), validate.errors]).toEqual([true, null])
      // What JSON alone makes of it: no key of it may be left out, or be written otherwise.
      const whole = JSON.parse(JSON.stringify(given[0]?.payload))
      expect(answer.json()).toEqual(whole)
    },
  )
})

test('on the admin port an act takes no author, and needs a token', () => {
  const [port, socket] = ['admin port', 'control socket'].map(
    (name) => documents[name]?.paths['/v1/tasks/{task}/freeze']?.post,
  )
  const body = (operation: Operation | undefined) =>
    operation?.requestBody?.content['application/json']?.schema as { required: string[]; properties: object }
  expect([body(port).required.sort(), body(socket).required.sort()]).toEqual([['reason'], ['by', 'reason']])
  expect(Object.keys(body(port).properties)).not.toContain('by')
  expect([port?.security, socket?.security]).toEqual([[{ token: [] }], undefined])
})
