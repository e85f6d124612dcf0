/** etcd's JSON gateway: every call of it is a POST, so routes say which ones only read. */
import { expect, it } from 'vitest'
import type { Problem } from '../support/scene.ts'
import { Sidecar } from '../support/sidecar.ts'
import { until, within } from '../support/wait.ts'
import { base64, EtcdServer } from './etcd-server.ts'

const etcd = await EtcdServer.start()
/** How long the watch is quiet: well past the other answers' bodyTimeout, which undici measures to a second or so. */
const QUIET_MS = 2500
const sidecar = await Sidecar.start({
  upstream: etcd.url,
  config: {
    upstream: { bodyTimeout: '300ms' },
    routes: [
      { name: 'range', match: { methods: ['POST'], path: '/v3/kv/range' }, guard: 'none' },
      {
        name: 'watch',
        match: { methods: ['POST'], path: '/v3/watch' },
        guard: 'none',
        // A watch is an answer that is silent for as long as nothing changes.
        upstream: { url: etcd.url, bodyTimeout: '24h' },
      },
    ],
  },
})

function post(call: string, body: object, token?: number, signal?: AbortSignal): Promise<Response> {
  const claim = { 'Fencing-Task': 'keys', 'Fencing-Token': String(token) }
  return fetch(`http://127.0.0.1:${sidecar.port}/v3/${call}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: token === undefined ? {} : claim,
    ...(signal && { signal }),
  })
}

const put = (key: string, value: string, token?: number) =>
  post('kv/put', { key: base64(key), value: base64(value) }, token)

/** What a client reads, without a token. */
async function range(key: string): Promise<string | undefined> {
  const { kvs = [] } = (await (await post('kv/range', { key: base64(key) })).json()) as {
    kvs?: { value: string }[]
  }
  return kvs[0] && Buffer.from(kvs[0].value, 'base64').toString()
}

const swap = (key: string, from: string, to: string) => ({
  compare: [{ target: 'VALUE', key: base64(key), value: base64(from) }],
  success: [{ requestPut: { key: base64(key), value: base64(to) } }],
})

it('puts and transactions with a current token are applied, and read without one', async () => {
  const before = await etcd.revision()
  expect((await put('written', 'one', 9)).status).toBe(200)
  expect(await range('written')).toBe('one')
  const swapped = await post('kv/txn', swap('written', 'one', 'two'), 9)
  expect(await swapped.json()).toMatchObject({ succeeded: true })
  expect(await range('written')).toBe('two')
  const missed = await post('kv/txn', swap('written', 'one', 'three'), 9)
  expect(await missed.json()).not.toHaveProperty('succeeded')
  expect([await range('written'), await etcd.revision()]).toEqual(['two', before + 2])
})

it.each([
  [412, 'stale-token', 8],
  [428, 'token-required', undefined],
])('%i %s: nothing reaches etcd, and the answer says why', async (status, code, token) => {
  await put('refused', 'kept', 9)
  const before = await etcd.revision()
  const calls: readonly [string, object][] = [
    ['kv/put', { key: base64('refused'), value: base64('lost') }],
    ['kv/txn', swap('refused', 'kept', 'lost')],
    ['kv/deleterange', { key: base64('refused') }],
    ['lease/grant', { TTL: 60 }],
  ]
  for (const [call, body] of calls) {
    const refused = await post(call, body, token)
    const problem = (await refused.json()) as Problem
    expect(problem).toMatchObject({ status, code, sent: 'no', retry: 'never' })
    expect(refused.status).toBe(status)
  }
  expect([await etcd.revision(), await range('refused')]).toEqual([before, 'kept'])
})

it('a watch delivers each event while it is open, and outlives silence', async () => {
  const left = new AbortController()
  const watch = await post('watch', { create_request: { key: base64('watched') } }, undefined, left.signal)
  const results = resultsOf(watch)
  const next = () => within(results.next(), 'a result of the watch')
  expect(await next()).toMatchObject({ value: { created: true } })
  const change = async (value: string, token: number) => {
    expect((await put('watched', value, token)).status).toBe(200)
    expect(await next()).toMatchObject({ value: { events: [{ kv: { value: base64(value) } }] } })
  }
  await change('first', 9)
  await change('second', 10)
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
  await change('third', 10)
  left.abort()
  await until(async () => (await etcd.watchers()) === 0, 'the end of the watch at etcd')
})

interface WatchResult {
  readonly created?: boolean
  readonly events?: readonly { readonly kv: { readonly value: string } }[]
}

/** What a watch's answer says, line by line as it comes. */
async function* resultsOf(answer: Response): AsyncGenerator<WatchResult> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of answer.body as ReadableStream<Uint8Array>) {
    const text = decoder.decode(bytes, { stream: true })
    const lines = (rest + text).split('\n')
    rest = lines.pop() as string
    for (const line of lines) yield (JSON.parse(line) as { result: WatchResult }).result
  }
}
