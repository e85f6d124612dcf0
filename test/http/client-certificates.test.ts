/** Client certificates: who gets in, and which tasks he may write (`clients`). */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { client, identityFiles, pemFile } from '../support/certificates.ts'
import { exchange, type RawRequest } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'

const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0 })
await once(sockets, 'listening')
afterAll(() => sockets.close())

const SETTLER = 'spiffe://prod.example/ns/pay/sa/settler'
const { sidecar, upstream, metric } = await scene({
  tls: { ...identityFiles('server-1'), clientCa: pemFile('clients-ca'), clientCertificate: 'optional' },
  clients: [
    { san: SETTLER, tasks: ['settlement-', 'exact'] },
    { san: 'SETTLER.pay.example', tasks: ['dns-'] },
    { san: '2001:0db8::0001', tasks: ['ip-'] },
    { san: '10.1.2.3', tasks: ['ipv4-'] },
    { san: 'settler@PAY.example', tasks: [''] },
    { san: 'spiffe://prod.example/ns/pay/sa/auditor', tasks: [''] },
  ],
  routes: [
    { name: 'open', match: { path: '/open' }, guard: 'none' },
    { name: 'watched', match: { path: '/watched' }, mode: 'observe' },
    { name: 'by-path', match: { path: '/tasks/{task}' } },
    {
      name: 'live',
      match: { path: '/live' },
      upgrades: ['websocket'],
      upstream: { url: `http://127.0.0.1:${(sockets.address() as AddressInfo).port}` },
    },
  ],
})
const as = (name: string | undefined, request: RawRequest) =>
  exchange(sidecar.port, request, undefined, client(name && `client-${name}`))

test.each([
  ['settler', 'settlement-', true],
  ['settler', 'settlement-42', true],
  ['settler', 'exactly', true],
  ['settler', 'Settlement-42', false],
  ['settler', 'settlement', false],
  ['settler', 'x-settlement-42', false],
  ['settler', 'dns-1', false],
  ['dns', 'dns-1', true],
  ['dns', 'settlement-42', false],
  ['mixed', 'ip-1', true],
  ['mixed', 'ipv4-1', true],
  // Its e-mail address may write all.
  ['mixed', 'settlement-42', true],
  ['two-uris', 'settlement-42', false],
  ['two-uris', 'anything', false],
  // Of a CA that nobody trusts, whatever it says.
  ['foreign', 'settlement-42', false],
  [undefined, 'settlement-42', false],
] as const)('%s and task %s: %s', async (name, task, allowed) => {
  const answer = await as(name, claim(task, 1))
  if (allowed) {
    expect(answer.status).toBe(200)
    expect(upstream.last.values('fencing-task')).toEqual([task])
    return
  }
  const problem = refusal(answer, 403, 'task-not-allowed')
  expect(problem).toMatchObject({ task, token: '1', sent: 'no', retry: 'never' })
  // What is on record is no business of one who may not write.
  expect(problem.highest).toBeUndefined()
  expect(upstream.requests).toEqual([])
})

test('who may not write a task does not raise its mark, announcing or writing', async () => {
  const announce = (task: string, token: number) =>
    claim(task, token, { method: 'POST', target: '/.well-known/fencegate/announce', body: undefined })
  for (const name of ['dns', 'foreign', 'two-uris', undefined]) {
    refusal(await as(name, announce('settlement-mark', 99)), 403, 'task-not-allowed')
    refusal(await as(name, claim('settlement-mark', 99)), 403, 'task-not-allowed')
  }
  expect((await as('settler', announce('settlement-mark', 3))).status).toBe(204)
  expect((await as('settler', claim('settlement-mark', 3))).status).toBe(200)
  refusal(await as('settler', claim('settlement-mark', 2)), 412, 'stale-token')
  // Where a path names the task, that is the one that counts, also when it is announced.
  const path = (task: string) =>
    ({ method: 'PUT', target: `/tasks/${task}`, headers: [['Fencing-Token', '5']] }) as const
  expect((await as('settler', path('settlement-1'))).status).toBe(200)
  refusal(await as('settler', path('dns-1')), 403, 'task-not-allowed')
  const target = '/.well-known/fencegate/announce?method=PUT&path=/tasks/dns-1'
  refusal(
    await as('settler', { method: 'POST', target, headers: [['Fencing-Token', '5']] }),
    403,
    'task-not-allowed',
  )
})

test('a malformed claim is malformed, whoever makes it', async () => {
  refusal(await as(undefined, claim('settlement-1', 'x')), 400, 'malformed-token')
  refusal(await as(undefined, { method: 'PUT' }), 428, 'token-required')
})

test('what is not fenced needs no certificate', async () => {
  expect((await as(undefined, { method: 'GET' })).status).toBe(200)
  expect((await as('foreign', { method: 'POST', target: '/open', body: '{}' })).status).toBe(200)
})

test('under observe it is forwarded and counted, and its mark stays', async () => {
  const watched = (token: number) => claim('settlement-watched', token, { target: '/watched' })
  expect((await as('dns', watched(9))).status).toBe(200)
  expect(await metric('fencegate_decisions_total', { decision: 'would-task-not-allowed' })).toBe(1)
  expect(sidecar.logs).toContainEqual(
    expect.objectContaining({ msg: 'request would be refused', code: 'task-not-allowed' }),
  )
  expect((await as('settler', claim('settlement-watched', 1))).status).toBe(200)
})

test('an upgrade needs the certificate too, before any 101', async () => {
  const open = async (name: string) => {
    const socket = new WebSocket(`wss://127.0.0.1:${sidecar.port}/live`, {
      ...client(name),
      headers: { 'Fencing-Task': 'settlement-live', 'Fencing-Token': '1' },
    })
    const status = new Promise((resolve) => {
      socket
        .on('open', () => resolve(101))
        .on('unexpected-response', (_, answer) => resolve(answer.statusCode))
    })
    socket.on('error', () => {})
    return status.finally(() => socket.terminate())
  }
  const before = sockets.clients.size
  expect(await open('client-dns')).toBe(403)
  expect(sockets.clients.size).toBe(before)
  expect(await open('client-settler')).toBe(101)
})

test('refusals are counted', async () => {
  expect(await metric('fencegate_decisions_total', { decision: 'task-not-allowed' })).toBeGreaterThan(10)
})
