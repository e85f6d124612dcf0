/** Who gets what on the admin port: by address, host name, token and listener; and who is shut out. */
import type { FastifyInstance } from 'fastify'
import { beforeEach, describe, expect, test } from 'vitest'
import { FailedTokens } from '../../src/admin/failed-tokens.ts'
import { loadConfig } from '../../src/config/load.ts'
import { AdminRig, TOKEN, tokensOf } from '../support/admin.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const { config } = loadConfig({ env: {}, flags: { upstream: 'http://127.0.0.1:9200' } })
const OTHER = '10.0.0.9'
const bearer = (token = TOKEN) => ({ authorization: `Bearer ${token}` })

let rig: AdminRig
let server: FastifyInstance
beforeEach(async () => {
  rig = new AdminRig(config)
  server = await rig.adminServer()
})

interface Asking {
  readonly url?: string
  readonly from?: string
  readonly headers?: Readonly<Record<string, string>>
}
const read = ({ url = '/v1/status', from = '127.0.0.1', headers = {} }: Asking = {}) =>
  server.inject({ url, remoteAddress: from, headers: { host: 'localhost:8471', ...headers } })
const freeze = ({ from = '127.0.0.1', headers = {} }: Asking = {}) =>
  server.inject({
    ...{ method: 'POST', url: '/v1/tasks/T/freeze', remoteAddress: from, headers },
    payload: { reason: 'INC-7' },
  })

describe('reads', () => {
  test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('from %s need no token', async (from) => {
    expect((await read({ from })).statusCode).toBe(200)
  })

  test.each([OTHER, '127.0.0.6', '::ffff:127.0.0.6', '127.0.0.10', '::6', '2001:db8::1'])(
    'from %j need one',
    async (from) => {
      const refused = await read({ from })
      expect(refused.statusCode).toBe(401)
      expect(refused.headers['www-authenticate']).toBe('Bearer realm="fencegate"')
      expect((await read({ from, headers: bearer() })).statusCode).toBe(200)
    },
  )

  const proxyFields = ['forwarded', 'x-forwarded-for', 'X-Forwarded-Proto', 'via', 'x-real-ip']
  test.each(proxyFields)('by way of a proxy that says %s need one', async (field) => {
    const headers = { [field]: 'for=127.0.0.1' }
    expect((await read({ headers })).statusCode).toBe(401)
    expect((await read({ headers: { ...headers, ...bearer() } })).statusCode).toBe(200)
  })

  test.each(['localhost', 'LOCALHOST:8471', '127.0.0.1:1', '10.0.0.1', '[::1]:8471', '[::1]'])(
    'by the name %s need no token',
    async (host) => {
      expect((await read({ headers: { host } })).statusCode).toBe(200)
    },
  )

  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example:8471',
    '[::1',
    '::1',
    ' ',
    'localhost:x',
  ])('by the name %j, which another site may have taken over, are refused without a token', async (host) => {
    const refused = await read({ headers: { host } })
    expect([refused.statusCode, refused.json().error]).toEqual([421, expect.stringContaining('Host')])
    expect((await read({ headers: { host, ...bearer() } })).statusCode).toBe(200)
  })

  test.each(['cross-site', 'same-site'])(
    'by a page that is %s need one; a link to them does not',
    async (site) => {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' }
      for (const url of ['/v1/status', '/v1/journal/stream']) {
        expect([url, (await read({ url, headers })).statusCode]).toEqual([url, 403])
      }
      expect((await read({ headers: { ...headers, ...bearer() } })).statusCode).toBe(200)
      for (const fields of [
        { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
        { ...headers, 'sec-fetch-mode': 'navigate' },
      ]) {
        expect((await read({ headers: fields })).statusCode).toBe(200)
      }
    },
  )

  test('of the document and the dashboard are free', async () => {
    for (const url of ['/v1/openapi.json', '/', '/app.js', '/vendor/uPlot.esm.js', '/livez', '/metrics']) {
      expect([url, (await read({ url, from: OTHER })).statusCode]).toEqual([url, 200])
    }
  })

  test('without any tokens, from elsewhere, are refused for good', async () => {
    rig.tokens = undefined
    const refused = await read({ headers: { forwarded: 'for=1.2.3.4', ...bearer() } })
    expect([refused.statusCode, refused.json().error]).toEqual([
      403,
      expect.stringContaining('admin.tokenFile'),
    ])
    expect((await read()).statusCode).toBe(200)
  })
})

describe('acts', () => {
  test('need a token, even from this host, and are on record under its name', async () => {
    expect((await freeze()).statusCode).toBe(401)
    expect((await rig.store.load('T')).frozen).toBe(false)
    expect((await freeze({ headers: bearer(), from: OTHER })).statusCode).toBe(200)
    expect(rig.store.disk.journal.list({ limit: 9, after: 0 }).rows.at(-1)?.data).toMatchObject({ by: 'ana' })
  })

  test('without any tokens: 403, which names the setting and the socket', async () => {
    rig.tokens = undefined
    const refused = await freeze({ headers: bearer() })
    expect([refused.statusCode, refused.json().error]).toEqual([
      403,
      expect.stringMatching(/admin\.tokenFile.*control socket/),
    ])
  })

  test.each([
    ['another token', bearer(`${TOKEN.slice(0, -1)}X`)],
    ['the token cut short', bearer(TOKEN.slice(0, -1))],
    ['the token and more', bearer(`${TOKEN}x`)],
    ['two tokens', bearer(`${TOKEN} ${TOKEN}`)],
    ['no token', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${Buffer.from(`ana:${TOKEN}`).toString('base64')}` }],
    ['no scheme', { authorization: TOKEN }],
    ['the digest', bearer(tokensOf({ ana: TOKEN }).named[0]?.digest.toString('hex'))],
    ['the name', bearer('ana')],
  ])('with %s: 401', async (_, headers) => {
    const refused = await freeze({ headers })
    expect([refused.statusCode, refused.body]).toEqual([401, expect.not.stringContaining(TOKEN)])
    expect(rig.failures).toEqual([])
  })

  test('the scheme is Bearer in either case', async () => {
    expect((await freeze({ headers: { authorization: `bearer ${TOKEN}` } })).statusCode).toBe(200)
  })

  test('new tokens are taken at once, and old ones no more', async () => {
    rig.tokens = tokensOf({ ben: 'another-token-0123456789', cem: 'a-third-token-0123456789' })
    expect((await freeze({ headers: bearer() })).statusCode).toBe(401)
    expect((await freeze({ headers: bearer('a-third-token-0123456789') })).statusCode).toBe(200)
  })
})

describe('where other hosts reach the port', () => {
  beforeEach(() => {
    rig.isLocal = false
  })

  test('without tokens there are health and metrics alone', async () => {
    rig.tokens = undefined
    for (const url of [
      '/',
      '/app.js',
      '/v1/status',
      '/v1/openapi.json',
      '/v1/tasks',
      '/vendor/uPlot.esm.js',
    ]) {
      expect([url, (await read({ url })).statusCode]).toEqual([url, 404])
    }
    expect((await freeze({ headers: bearer() })).statusCode).toBe(404)
    for (const url of ['/livez', '/readyz', '/metrics']) expect((await read({ url })).statusCode).toBe(200)
  })

  test('with tokens there is everything', async () => {
    expect((await read({ url: '/', from: OTHER })).statusCode).toBe(200)
    expect(
      (await read({ from: OTHER, headers: { host: 'fencegate.internal', ...bearer() } })).statusCode,
    ).toBe(200)
  })
})

describe('wrong tokens', () => {
  test('ten from one address within a minute: it is shut out until that is over, and others are not', async () => {
    for (let i = 0; i < 10; i++) {
      expect((await freeze({ from: OTHER, headers: bearer('wrong') })).statusCode).toBe(401)
      await rig.clock.advance(1000)
    }
    const refused = await freeze({ from: OTHER, headers: bearer() })
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '50'])
    expect((await read({ url: '/livez', from: OTHER })).statusCode).toBe(200)
    expect((await freeze({ from: '10.0.0.8', headers: bearer() })).statusCode).toBe(200)
    expect(rig.notes).toEqual([{ address: OTHER }])
    await rig.clock.advance(50_000)
    expect((await freeze({ from: OTHER, headers: bearer() })).statusCode).toBe(200)
  })

  test('none at all is no wrong one', async () => {
    for (let i = 0; i < 12; i++) expect((await freeze({ from: OTHER })).statusCode).toBe(401)
    expect((await freeze({ from: OTHER, headers: bearer() })).statusCode).toBe(200)
  })

  test('an IPv6 host is its /64, and an IPv4 address is one however it is written', () => {
    const failed = new FailedTokens(new VirtualClock())
    for (let i = 0; i < 10; i++) failed.failed(`2001:db8:1:2::${i}`)
    for (let i = 0; i < 10; i++) failed.failed(i % 2 === 0 ? '10.0.0.1' : '::ffff:10.0.0.1')
    const isOut = (address: string) => failed.shutOutMs(address) > 0
    expect(['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::', '10.0.0.1'].map(isOut)).toEqual([true, true, true])
    expect(['2001:db8:1:3::1', '2001:db8::1', '10.0.0.2', '::1'].map(isOut)).toEqual([
      false,
      false,
      false,
      false,
    ])
  })

  test('a flood of addresses takes bounded memory, and the newest are still counted', () => {
    const failed = new FailedTokens(new VirtualClock())
    for (let i = 0; i < 5000; i++) failed.failed(`10.${i >> 8}.${i & 255}.1`)
    const counts = Array.from({ length: 10 }, () => failed.failed('10.0.0.2'))
    expect(counts.filter(Boolean)).toHaveLength(1)
    expect(failed.size).toBeLessThanOrEqual(1024)
  })
})
