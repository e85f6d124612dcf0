/**
 * The methods of WebDAV before nginx: with a current token each has its effect on the disk, without one or with a
 * stale one none has, and nginx sees nothing.
 */
import { expect, it } from 'vitest'
import { exchange, type RawRequest } from '../support/raw-client.ts'
import { claim, refusal } from '../support/scene.ts'
import { webdavScene } from './webdav-scene.ts'

const { server, sidecar, decided, expectUntouched } = await webdavScene()
const send = (request: RawRequest) => exchange(sidecar.port, request)
/** On the task `files`, from a client that knows the server by this name. */
const write = (token: number, method: string, target: string, more: RawRequest = {}) =>
  send(
    claim('files', token, {
      ...more,
      method,
      target,
      body: more.body,
      headers: [['Host', 'files.example'], ...(more.headers ?? [])],
    }),
  )
const to = (path: string): RawRequest => ({ headers: [['Destination', `http://files.example${path}`]] })

for (const name of ['/one.txt', '/two.txt', '/rewritten/one.txt']) {
  expect((await write(9, 'PUT', name, { body: 'settled' })).status).toBe(201)
}

it.each<[string, string, RawRequest, number, Record<string, string | undefined>]>([
  ['PUT', '/put.txt', { body: 'new' }, 201, { 'put.txt': 'new' }],
  ['PUT', '/chunked.txt', { body: 'new', chunked: true }, 201, { 'chunked.txt': 'new' }],
  ['MKCOL', '/made/', {}, 201, { 'made/': '' }],
  ['COPY', '/one.txt', to('/copy.txt'), 204, { 'one.txt': 'settled', 'copy.txt': 'settled' }],
  ['MOVE', '/one.txt', to('/moved.txt'), 204, { 'one.txt': undefined, 'moved.txt': 'settled' }],
  ['DELETE', '/two.txt', {}, 204, { 'two.txt': undefined }],
])('%s %s', async (method, target, request, status, effect) => {
  const stale = await decided('stale-token')
  await expectUntouched(async () => {
    refusal(await write(8, method, target, request), 412, 'stale-token')
    refusal(await send({ ...request, method, target }), 428, 'token-required')
  })
  expect(await decided('stale-token')).toBe(stale + 1)
  expect((await write(9, method, target, request)).status).toBe(status)
  for (const [name, contents] of Object.entries(effect)) expect(server.contents[name]).toBe(contents)
})

it('LOCK and UNLOCK', async () => {
  const target = '/locked.txt'
  const put = (headers: RawRequest['headers'] = []) => write(9, 'PUT', target, { body: 'x', headers })
  const body =
    '<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>' +
    '<D:locktype><D:write/></D:locktype></D:lockinfo>'
  await expectUntouched(async () => refusal(await write(8, 'LOCK', target, { body }), 412, 'stale-token'))
  expect((await put()).status).toBe(201)
  const locked = await write(9, 'LOCK', target, { body })
  const [token = ''] = locked.values('lock-token')
  expect([locked.status, token]).toEqual([200, expect.stringMatching(/^<urn:.+>$/)])

  refusal(await write(8, 'UNLOCK', target, { headers: [['Lock-Token', token]] }), 412, 'stale-token')
  const refused = await put()
  expect([refused.status, refused.values('proxy-status')]).toEqual([423, []])
  expect((await put([['If', `(${token})`]])).status).toBe(204)
  expect((await write(9, 'UNLOCK', target, { headers: [['Lock-Token', token]] })).status).toBe(204)
  expect((await put()).status).toBe(204)
})

it('PROPFIND needs a token unless a route says that it is a read', async () => {
  const propfind = { method: 'PROPFIND', headers: [['Depth', '1']] } as const
  await expectUntouched(async () => {
    refusal(await send({ ...propfind, target: '/' }), 428, 'token-required')
    refusal(await write(8, 'PROPFIND', '/', propfind), 412, 'stale-token')
  })
  for (const answer of [
    await write(9, 'PROPFIND', '/', propfind),
    await send({ ...propfind, target: '/open/' }),
    await write(8, 'PROPFIND', '/open/', propfind),
  ]) {
    expect([answer.status, answer.body.text]).toEqual([207, expect.stringContaining('<D:multistatus')])
  }
})

it('nginx refuses a destination if Host was rewritten', async () => {
  const moved = await write(9, 'MOVE', '/rewritten/one.txt', to('/rewritten/two.txt'))
  expect([moved.status, moved.values('proxy-status')]).toEqual([400, []])
  expect(server.contents['rewritten/one.txt']).toBe('settled')
})
