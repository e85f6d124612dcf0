/** Requests that are not as they must be: each is refused with its field, its fault and the remedy, and changes nothing. */
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseBody } from '../../src/admin/json-body.ts'
import { loadConfig } from '../../src/config/load.ts'
import { StoreError } from '../../src/store/mark-store.ts'
import { AdminRig, TOKEN } from '../support/admin.ts'

const { config } = loadConfig({ env: {}, flags: { upstream: 'http://127.0.0.1:9200' } })
const rig = new AdminRig(config)
const server: FastifyInstance = await rig.adminServer()
const reason = 'INC-7'
const HEADERS = { authorization: `Bearer ${TOKEN}`, host: 'localhost', 'content-type': 'application/json' }

const get = (url: string) => server.inject({ url, headers: { host: 'localhost' } })
const post = (url: string, payload: string | object, headers: Record<string, string> = {}) =>
  server.inject({ method: 'POST', url, payload, headers: { ...HEADERS, ...headers } })

test.each([
  ['/v1/tasks?limit=1e9', 'query/limit must be integer: write a whole number from 1 to 1000'],
  ['/v1/tasks?limit=1000000000', 'query/limit must be <= 1000'],
  ['/v1/tasks?limit=0', 'query/limit must be >= 1'],
  ['/v1/tasks?limit=', 'query/limit must be integer'],
  ['/v1/tasks?limit=0x10', 'query/limit must be integer'],
  ['/v1/tasks?limit=%2010', 'query/limit must be integer'],
  ['/v1/tasks?limit=1&limit=2', 'query/limit must be integer'],
  ['/v1/tasks?after=caf%C3%A9', 'query/after must match pattern'],
  ['/v1/tasks?state=lost', 'open, pending or frozen'],
  ['/v1/tasks?serach=x', '"serach" is one: there are search, state, limit, after'],
  ['/v1/tasks?search=', 'query/search must NOT have fewer than 1 characters'],
  ['/v1/tasks?__proto__=x', 'additional properties'],
  ['/v1/journal?after=nonsense', 'query/after must be integer'],
  ['/v1/journal?after=9007199254740993', 'query/after must be <= 9007199254740991'],
  ['/v1/journal?kind=acts', 'handover, rejection, act, resolved or dropped'],
  ['/v1/journal?order=sideways', 'oldest or newest'],
  ['/v1/journal?token=9223372036854775808', 'from 1 to 9223372036854775807'],
  ['/v1/journal/stream?after=-1', 'query/after must be integer'],
  ['/v1/status?verbose=1', '"verbose" is one: there are none'],
  [`/v1/tasks/${'a'.repeat(257)}`, 'path/task must match pattern'],
  ['/v1/tasks/a%20b', 'path/task must match pattern'],
  ['/v1/tasks/caf%C3%A9', '1 to 256 visible ASCII characters'],
  ['/v1/tasks/a%00b', 'path/task must match pattern'],
  ['/v1/tasks/%zz', 'the path has a "%" that escapes no UTF-8'],
])('GET %s: 400', async (url, part) => {
  const answer = await get(url)
  expect([answer.statusCode, answer.json().error]).toEqual([400, expect.stringContaining(part)])
})

test.each(['a/b', 'a%2Fb', '"', "'", '<img/src=x>', '...', 'a?b#c', '\\', '%', '~'.repeat(256)])(
  'the task %j has a name like any other, known or not',
  async (task) => {
    const answer = await get(`/v1/tasks/${encodeURIComponent(task)}`)
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      expect.objectContaining({ task, recorded: false, mark: '0', passes: '1', open: [] }),
    ])
  },
)

describe('an act', () => {
  const URL = '/v1/tasks/T/raise'
  test.each<[string, string | object, string]>([
    ['without a reason', { token: '9' }, "required property 'reason': write why, 1 to 4096 characters"],
    ['with an empty reason', { reason: '', token: '9' }, 'body/reason must NOT have fewer'],
    [
      'with a long reason',
      { reason: 'x'.repeat(4097), token: '9' },
      'body/reason must NOT have more than 4096',
    ],
    ['without a token', { reason }, "required property 'token': write a token in quotes"],
    ['with a number for a token', { reason, token: 9 }, 'body/token must be string: write a token in quotes'],
    ['with a large number', '{"reason":"x","token":9007199254740993}', 'write a token in quotes'],
    ['with a token with a sign', { reason, token: '+9' }, 'body/token must match pattern'],
    ['with the token 0', { reason, token: '0' }, 'body/token must match pattern'],
    ['with a token too large', { reason, token: '9223372036854775808' }, 'from 1 to 9223372036854775807'],
    ['with an author of its own', { reason, token: '9', by: 'ben' }, '"by" is one'],
    ['with a misspelt key', { reason, token: '9', tokn: '9' }, '"tokn" is one: there are'],
    ['with a key of an object', '{"reason":"x","token":"9","__proto__":{}}', '"__proto__" is one'],
    ['with a key twice', '{"reason":"x","token":"9","token":"1"}', 'the key "token" twice'],
    [
      'with a key twice, once escaped',
      '{"reason":"x","token":"9","\\u0074oken":"1"}',
      'the key "token" twice',
    ],
    ['with a list', [reason], 'body must be object'],
    ['with null', 'null', 'body must be object'],
    ['with no JSON', '{"reason":', 'not JSON in UTF-8'],
    ['with nothing', '', 'JSON'],
  ])('%s: 400', async (_, body, part) => {
    const answer = await post(URL, body)
    expect([answer.statusCode, answer.json().error]).toEqual([400, expect.stringContaining(part)])
    expect((await rig.store.load('T')).mark.recorded).toBe(false)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'multipart/form-data'])(
    'with the content type %s: 415',
    async (type) => {
      const answer = await post(URL, JSON.stringify({ reason, token: '9' }), { 'content-type': type })
      expect([answer.statusCode, answer.json().error]).toEqual([415, expect.stringContaining('send JSON')])
    },
  )

  test('with a body of more than 64 KiB: 413', async () => {
    const answer = await post(URL, { reason: 'x'.repeat(65_536), token: '9' })
    expect([answer.statusCode, answer.json().error]).toEqual([413, expect.stringContaining('65536 bytes')])
  })

  test('with bytes that are no UTF-8: 400', async () => {
    const answer = await post(URL, Buffer.from('{"reason":"\xff","token":"9"}', 'latin1'))
    expect(answer.statusCode).toBe(400)
  })

  test('repeated, it answers the same', async () => {
    for (const [act, body] of [
      ['raise', { reason, token: '9' }],
      ['freeze', { reason }],
      ['fence', { reason, token: '9' }],
      ['thaw', { reason, token: '12' }],
    ] as const) {
      const task = `again-${act}`
      if (act === 'fence') await post(`/v1/tasks/${task}/raise`, { reason, token: '9' })
      const [first, second] = [
        await post(`/v1/tasks/${task}/${act}`, body),
        await post(`/v1/tasks/${task}/${act}`, body),
      ]
      expect([act, first.statusCode, second.json()]).toEqual([act, 200, first.json()])
    }
  })

  test('on a backup is not done on the admin port', async () => {
    const answer = await post('/v1/backup', { reason, file: '/nowhere/backup.db' })
    expect([answer.statusCode, answer.json().error]).toEqual([403, expect.stringContaining('control socket')])
  })
})

test.each([
  ['GET', '/v1/nothing'],
  ['DELETE', '/v1/tasks/T'],
  ['GET', '/v1/tasks/T/freeze'],
  ['POST', '/v1/tasks'],
  ['GET', '/server.ts'],
  ['GET', '/tsconfig.json'],
  ['GET', '/../server.ts'],
  ['GET', '/..%2fserver.ts'],
  ['GET', '/vendor/uPlot.cjs.js'],
  ['GET', '/.gitignore'],
] as const)('%s %s: 404', async (method, url) => {
  const answer = await server.inject({ method, url })
  expect([answer.statusCode, answer.json().error]).toEqual([404, expect.stringContaining('there is no')])
})

test('a backup by a name that cannot be is refused for good; one that was not put on record says so', async () => {
  const socket = await rig.socketServer()
  const backup = (file: string) =>
    socket.inject({ method: 'POST', url: '/v1/backup', payload: { reason, by: 'ana', file } })
  expect((await backup('/b.db')).statusCode).toBe(200)
  const again = await backup('/b.db')
  expect([again.statusCode, again.headers['retry-after'], again.json().error]).toEqual([
    409,
    undefined,
    expect.stringContaining('exists already'),
  ])
  const { commit } = rig.store
  rig.store.commit = () => Promise.reject(new StoreError('the disk is full'))
  const unrecorded = await backup('/c.db')
  rig.store.commit = commit
  expect([unrecorded.statusCode, unrecorded.json().error]).toEqual([
    503,
    expect.stringContaining('/c.db is whole'),
  ])
})

describe('a sidecar that', () => {
  beforeAll(() => () => {
    rig.phase = 'serving'
    rig.isRunning = true
  })

  test('starts, or has closed its store, has nothing to say of tasks: 503 with Retry-After', async () => {
    for (const phase of ['starting', 'stopping'] as const) {
      rig.phase = phase
      rig.isRunning = false
      for (const answer of [await get('/v1/tasks'), await post('/v1/tasks/S/freeze', { reason })]) {
        expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '1'])
      }
      expect((await get('/v1/status')).json()).toMatchObject({ phase, tasks: 0, openWrites: 0 })
    }
  })

  test('is stopping begins no act, and still tells what it knows', async () => {
    rig.phase = 'stopping'
    rig.isRunning = true
    const answer = await post('/v1/tasks/S/freeze', { reason })
    expect([answer.statusCode, answer.headers['retry-after'], answer.json().error]).toEqual([
      503,
      '1',
      expect.stringContaining('nothing was changed'),
    ])
    expect((await get('/v1/tasks/S')).json()).toMatchObject({ frozen: false })
  })
})

test('an act that has begun when the sidecar stops is seen through, and counted until then', async () => {
  const { commit } = rig.store
  const asked = Promise.withResolvers<void>()
  const durable = Promise.withResolvers<void>()
  rig.store.commit = async (changes) => {
    asked.resolve()
    await durable.promise
    return commit.call(rig.store, changes)
  }
  rig.phase = 'serving'
  const answer = post('/v1/tasks/begun/freeze', { reason })
  await asked.promise
  rig.phase = 'stopping'
  expect([rig.api.actsUnderWay, (await post('/v1/tasks/late/freeze', { reason })).statusCode]).toEqual([
    1, 503,
  ])
  durable.resolve()
  expect([(await answer).statusCode, rig.api.actsUnderWay]).toEqual([200, 0])
  rig.store.commit = commit
  expect((await rig.store.load('begun')).frozen).toBe(true)
  expect((await rig.store.load('late')).frozen).toBe(false)
  rig.phase = 'serving'
})

test('a store that is in trouble: 503; a fault of our own: 500, and nothing of it in the answer', async () => {
  const { load } = rig.store
  rig.store.load = async () => {
    throw new StoreError('the store is too slow')
  }
  expect((await get('/v1/tasks/T')).statusCode).toBe(503)
  rig.store.load = async () => {
    throw new TypeError(`undefined is no ${TOKEN}`)
  }
  const failed = await get('/v1/tasks/T')
  rig.store.load = load
  expect([failed.statusCode, failed.body]).toEqual([
    500,
    '{"error":"the sidecar failed to answer: its log says why"}',
  ])
  expect(rig.failures.map(({ message }) => message)).toEqual([`undefined is no ${TOKEN}`])
})

test('every answer has the security fields, and no CORS', async () => {
  const answers = await Promise.all([
    ...[
      '/v1/status',
      '/v1/nothing',
      '/v1/tasks?limit=0',
      '/v1/tasks/%zz',
      '/',
      '/app.js',
      '/livez',
      '/metrics',
    ].map(get),
    post('/v1/tasks/T/raise', '{'),
    server.inject({ method: 'POST', url: '/v1/tasks/T/raise' }),
    server.inject({ url: '/v1/status', headers: { host: 'evil.example', origin: 'http://evil.example' } }),
    server.inject({ method: 'OPTIONS', url: '/v1/status', headers: { origin: 'http://evil.example' } }),
  ])
  for (const { headers, statusCode } of answers) {
    expect([statusCode, headers]).toEqual([
      statusCode,
      expect.objectContaining({
        'content-security-policy': expect.stringMatching(/^default-src 'none'; .*frame-ancestors 'none'$/),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
      }),
    ])
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  }
})

test('any object of strings is read as JSON.parse does, and none with a key twice', () => {
  const key = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(fc.dictionary(key, fc.oneof(fc.string(), fc.integer(), fc.constant('":"'))), (object) => {
      const text = JSON.stringify(object)
      expect(parseBody(Buffer.from(text))).toEqual(JSON.parse(text))
      const [first] = Object.keys(object)
      if (first === undefined) return
      const twice = `${text.slice(0, -1)} ,\t${JSON.stringify(first)}\n:1}`
      expect(() => parseBody(Buffer.from(twice))).toThrow('twice')
    }),
    { seed: 7 },
  )
})
