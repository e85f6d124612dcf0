/** The admin port of a running sidecar: acts by token, the journal as it grows, what exhausts it, and its end. */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { control } from '../support/operator.ts'
import { exchange, RawClient } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { temporaryDirectory } from '../support/sidecar.ts'
import { until, within } from '../support/wait.ts'

const [ANA, BEN] = ['ana-has-this-token-0123456789', 'ben-has-this-token-0123456789']
const tokenFile = path.join(temporaryDirectory(), 'tokens')
const writeTokens = (text: string) => fs.writeFileSync(tokenFile, text, { mode: 0o600 })
writeTokens(`ana ${ANA}\n`)

const { upstream, sidecar } = await scene({
  admin: { listen: '127.0.0.1:0', tokenFile },
  shutdown: { delay: '0s', deadline: '20s' },
})
const url = (target: string) => `http://127.0.0.1:${sidecar.adminPort}${target}`
const act = (target: string, body: object, token = ANA) =>
  fetch(url(target), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'INC-7', ...body }),
  })
const get = async (target: string) => (await (await sidecar.admin(target)).json()) as Record<string, unknown>

const sockets: net.Socket[] = []
afterAll(() => {
  for (const socket of sockets) socket.destroy()
})

/** The events of a stream, as they come. */
async function stream(query: string, headers: Record<string, string> = {}) {
  const leave = new AbortController()
  const response = await fetch(url(`/v1/journal/stream${query}`), { headers, signal: leave.signal })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const seen: { seq: number; kind: string; task?: string; token?: string }[] = []
  const read = async () => {
    const decoder = new TextDecoder()
    let text = ''
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() as string
      for (const block of blocks)
        seen.push(...[...block.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string)))
    }
  }
  const ended = read().then(
    () => 'ended',
    () => 'cut',
  )
  return { seen, ended, leave: () => leave.abort() }
}

test('fence: a stale write is refused at once, and the task tells of it', async () => {
  expect(
    (await exchange(sidecar.port, claim('T', 9, { headers: [['Fencing-Holder', 'worker-a']] }))).status,
  ).toBe(200)
  const held = upstream.hold()
  const open = exchange(
    sidecar.port,
    claim('T', 9, { method: 'POST', target: '/pay', headers: [['Fencing-Holder', 'worker-a']] }),
  )
  await held.arrived
  expect(await get('/v1/tasks?state=open')).toEqual({
    tasks: [
      {
        ...{
          task: 'T',
          mark: '9',
          recorded: true,
          complete: true,
          holder: 'worker-a',
          frozen: false,
          openWrites: 1,
        },
        oldestOpenWriteMs: expect.any(Number),
      },
    ],
  })
  const fenced = await (await act('/v1/tasks/T/fence', { token: '9' })).json()
  const result = {
    ...{ task: 'T', mark: '10', frozen: true, passes: '10' },
    open: [
      {
        route: 'default',
        method: 'POST',
        target: '/pay',
        token: '9',
        holder: 'worker-a',
        ageMs: expect.any(Number),
      },
    ],
  }
  expect(fenced).toEqual(result)
  expect(await (await act('/v1/tasks/T/fence', { token: '9' })).json()).toEqual(result)
  expect(await get('/v1/tasks?state=pending')).toMatchObject({ tasks: [{ task: 'T', handover: {} }] })
  held.release()
  await open
  refusal(await exchange(sidecar.port, claim('T', 9)), 423, 'task-frozen')
  await act('/v1/tasks/T/thaw', {})
  refusal(await exchange(sidecar.port, claim('T', 9)), 412, 'stale-token')
  expect((await exchange(sidecar.port, claim('T', 10))).status).toBe(200)
  const rejections = async () => (await get('/v1/tasks/T')).rejections as Record<string, unknown>[]
  await until(async () => (await rejections()).length > 0, 'the rejection in the journal')
  expect((await rejections())[0]).toMatchObject({ kind: 'rejection', token: '9', data: { highest: '10' } })
  expect(await get('/v1/status')).toMatchObject({
    phase: 'serving',
    frozen: 0,
    staleRejections: 1,
    handoversPending: 0,
  })
})

test('reset: two steps, and on record as a break of P1', async () => {
  await act('/v1/tasks/P/raise', { token: '9223372036854775807' })
  await act('/v1/tasks/P/freeze', {})
  const asked = (await (await act('/v1/tasks/P/reset', { to: '5' })).json()) as { confirm: string }
  expect(asked).toMatchObject({
    task: 'P',
    mark: '9223372036854775807',
    to: '5',
    warning: expect.stringContaining('P1'),
  })
  expect(await get('/v1/tasks/P')).toMatchObject({ mark: '9223372036854775807' })
  expect((await act('/v1/tasks/P/reset', { to: '5', confirm: 'wrong' })).status).toBe(409)
  const done = await act('/v1/tasks/P/reset', { to: '5', confirm: asked.confirm })
  expect([done.status, await done.json()]).toEqual([
    200,
    { task: 'P', mark: '5', frozen: true, passes: '5', open: [] },
  ])
  const { journal } = await get('/v1/journal?task=P&order=newest&limit=1')
  expect(journal).toMatchObject([{ kind: 'act', data: { act: 'reset', by: 'ana', breaks: 'P1' } }])
})

test('a file of new tokens is taken by a reload; a faulty one changes nothing', async () => {
  writeTokens(`ben ${BEN}\n`)
  expect(await sidecar.reload()).toMatchObject({ msg: 'a new configuration is in force' })
  expect((await act('/v1/tasks/R/freeze', {}, ANA)).status).toBe(401)
  expect((await act('/v1/tasks/R/freeze', {}, BEN)).status).toBe(200)
  expect((await get('/v1/tasks/R')).frozen).toBe(true)
  writeTokens(`ana ${ANA}\nben\n`)
  expect(await sidecar.reload()).toMatchObject({ message: expect.stringContaining('admin.tokenFile') })
  expect((await act('/v1/tasks/R/thaw', {}, BEN)).status).toBe(200)
  expect(await get('/v1/config')).toMatchObject({
    lastReload: { result: 'refused', cause: 'SIGHUP' },
    file: sidecar.file,
  })
  writeTokens(`ana ${ANA}\nben ${BEN}\n`)
  await sidecar.reload()
  expect((await act('/v1/tasks/R/thaw', {}, ANA)).status).toBe(200)
})

test('two Authorization fields are refused, whatever is in them', async () => {
  const [field, body] = [`Authorization: Bearer ${ANA}\r\n`, '{"reason":"x"}']
  const head = 'POST /v1/tasks/T/freeze HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  const client = await RawClient.connect(sidecar.adminPort)
  await client.send(Buffer.from(`${head}${field}${field}Content-Length: ${body.length}\r\n\r\n${body}`))
  const answer = await client.answer('POST')
  expect([answer.status, answer.body.text]).toEqual([400, expect.stringContaining('more than once')])
  client.close()
})

test.each([
  ['no HTTP', 'HELO\r\n\r\n', 400, 'no HTTP request'],
  [
    'a head of more than 16 KiB',
    `GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    431,
    '16384',
  ],
  ['no Host', 'GET /v1/status HTTP/1.1\r\n\r\n', 421, 'Host'],
  ['two Hosts', 'GET /v1/status HTTP/1.1\r\nHost: localhost\r\nHost: rebound.example\r\n\r\n', 400, 'Host'],
  [
    'another host in its target',
    'GET http://rebound.example/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n',
    400,
    'target',
  ],
  ['no path', 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'target'],
])('%s gets an answer with the security fields', async (_, text, status, part) => {
  const client = await RawClient.connect(sidecar.adminPort)
  await client.send(Buffer.from(text))
  const answer = await client.answer('GET')
  expect([answer.status, answer.body.text]).toEqual([status, expect.stringContaining(part)])
  expect(answer.values('content-security-policy')).toEqual([
    expect.stringContaining("frame-ancestors 'none'"),
  ])
  client.close()
})

test.each([
  ['that is longer than any act', 'Content-Length: 1000000000', true],
  ['of an unknown length', 'Transfer-Encoding: chunked', true],
  ['that is short', 'Content-Length: 4', false],
])('a refused act does not have a body %s read for nothing', async (_, framing, isClosed) => {
  const client = await RawClient.connect(sidecar.adminPort)
  const head = 'POST /v1/tasks/T/freeze HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  await client.send(Buffer.from(`${head}${framing}\r\n\r\n`))
  const answer = await client.answer('POST')
  expect([answer.status, answer.values('connection')]).toEqual([401, [isClosed ? 'close' : 'keep-alive']])
  client.close()
})

test('a stream shows what happens, and goes on where it was', async () => {
  const all = await stream('?after=0')
  const acts = await stream('?kind=act&task=S')
  await act('/v1/tasks/S/raise', { token: '7' })
  await until(() => acts.seen.length === 1, 'the act')
  expect(acts.seen[0]).toMatchObject({ kind: 'act', task: 'S', token: '7' })
  acts.leave()
  await act('/v1/tasks/S/raise', { token: '8' })
  await act('/v1/tasks/S/freeze', {})
  const next = await stream('?kind=act&task=S', { 'last-event-id': String(acts.seen[0]?.seq) })
  await until(() => next.seen.length === 2, 'what came meanwhile')
  const { journal } = (await get('/v1/journal?limit=1000')) as { journal: unknown[] }
  await until(() => all.seen.length >= journal.length, 'all of it')
  expect(all.seen.slice(0, journal.length)).toEqual(journal)
  expect(next.seen.map(({ seq }) => seq)).toEqual([...new Set(next.seen.map(({ seq }) => seq))])
  expect((await fetch(url('/v1/journal/stream'), { headers: { 'last-event-id': 'x' } })).status).toBe(400)
  next.leave()
  all.leave()
  await until(async () => (await get('/v1/status')).streams === 0, 'that all streams are forgotten')
})

const connect = async (text: string) => {
  const socket = net
    .connect(sidecar.adminPort, '127.0.0.1')
    .on('error', () => {})
    .resume()
  sockets.push(socket)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(text)
  return socket
}

test('requests that were sent ahead are answered in turn; without end, they end the connection', async () => {
  const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  const client = await RawClient.connect(sidecar.adminPort)
  await client.send(Buffer.from(get('/v1/store') + get('/v1/nothing') + get('/livez')))
  const statuses = [await client.answer('GET'), await client.answer('GET'), await client.answer('GET')]
  expect(statuses.map(({ status }) => status)).toEqual([200, 404, 200])
  client.close()
  const socket = await connect(get('/v1/openapi.json').repeat(300))
  await until(() => socket.destroyed, 'the end of the connection')
  expect(socket.bytesRead).toBe(0)
})

test('more connections than it takes close the idle ones, and /livez is still answered', async () => {
  for (let i = 0; i < 300; i++) await connect(i % 2 === 0 ? '' : 'GET /livez HTTP/1.1\r\nHo')
  expect((await sidecar.admin('/livez')).status).toBe(200)
  const open = () => sockets.filter(({ readyState }) => readyState === 'open').length
  await until(() => open() <= 256, 'the end of the idle ones')
  expect(open()).toBeGreaterThan(200)
  for (const socket of sockets) socket.destroy()
})

test('a sidecar that is stopping begins no act, on either listener, and ends its streams', async () => {
  const watching = await stream('')
  const held = upstream.hold()
  const open = exchange(sidecar.port, claim('Z', 1))
  await held.arrived
  sidecar.process.signal('SIGTERM')
  await until(async () => (await get('/v1/status')).phase === 'stopping', 'that it is stopping')
  const refused = await act('/v1/tasks/Z/freeze', {})
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  const because = { by: 'ana', reason: 'INC-7' }
  expect((await control(sidecar, 'POST', '/v1/tasks/Z/freeze', because)).status).toBe(503)
  expect(await get('/v1/tasks/Z')).toMatchObject({ frozen: false, openWrites: 1 })
  held.release()
  expect((await open).status).toBe(200)
  expect(await sidecar.process.exitCode()).toBe(0)
  expect(await within(watching.ended, 'the end of the stream')).toBe('ended')
})
