/** CASES 3: a body of any size and type reaches the resource byte for byte, and is nobody's to judge here. */
import fs from 'node:fs'
import { expect, test } from 'vitest'
import type { RawRequest } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import { type HeaderPair, sha256 } from '../support/wire.ts'

const { upstream, sidecar, send, connect } = await scene({
  routes: [{ name: 'open', match: { path: '/open' }, guard: 'none' }],
})
const type = (value: string): HeaderPair[] => [['Content-Type', value]]

test.each<[string, RawRequest]>([
  ['empty, chunked, without a type', { body: '', chunked: true }],
  ['newline-delimited JSON', { headers: type('application/x-ndjson'), body: '{"index":{}}\n{"a":1}\n' }],
  ['multipart', { headers: type('multipart/form-data; boundary=b'), body: '--b\r\n\r\nx\r\n--b--\r\n' }],
  ['multipart without a boundary', { headers: type('multipart/form-data'), body: 'x' }],
  ['a type that is none', { headers: type('json'), body: '{"a":1}' }],
  ['JSON of length 0', { headers: type('application/json'), body: '' }],
  ['invalid JSON', { headers: type('application/json'), body: '{"a":' }],
  ['JSON with a prototype', { headers: type('application/json'), body: '{"__proto__":{"a":1}}' }],
  ['a form', { headers: type('application/x-www-form-urlencoded'), body: 'a=1&a=%2' }],
  ['a coding', { headers: [...type('text/plain'), ['Content-Encoding', 'gzip']], body: 'not gzip' }],
  ['a type of its own kind', { headers: type(';;=,'), body: 'x' }],
  ['two megabytes', { headers: type('application/json'), body: Buffer.alloc(2e6, 'not JSON ') }],
  ['every byte', { body: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)) }],
  ['chunked bytes', { body: Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)), chunked: true }],
])('%s', async (_, request) => {
  for (const [method, target] of [
    ['POST', '/x'],
    ['DELETE', '/x'],
    ['PATCH', '/x'],
    ['POST', '/open'],
    ['GET', '/open'],
  ] as const) {
    const sent = claim('bodies', 1, { method, target, ...request })
    expect((await send(sent)).status).toBe(200)
    expect(upstream.last.body.sha256).toBe(sha256(request.body ?? ''))
    expect(upstream.last.values('content-type')).toEqual(
      (request.headers ?? []).filter(([name]) => name === 'Content-Type').map(([, value]) => value),
    )
    const framing = request.chunked ? 'transfer-encoding' : 'content-length'
    if (upstream.last.body.bytes > 0) expect(upstream.last.values(framing)).toHaveLength(1)
  }
  expect(upstream.faults).toEqual([])
})

test('a write without a body has none at the resource', async () => {
  for (const method of ['POST', 'DELETE']) {
    expect((await send(claim('bodies', 1, { method, body: undefined }))).status).toBe(200)
    expect(upstream.last.body.bytes).toBe(0)
    expect(upstream.last.values('transfer-encoding')).toEqual([])
  }
})

test('a body that comes a byte at a time arrives whole', async () => {
  const client = await connect()
  await client.send(`PUT /slow HTTP/1.1\r\nHost: a\r\nFencing-Task: bodies\r\nFencing-Token: 1\r\n`)
  await client.send('Content-Length: 5\r\n\r\n')
  for (const byte of 'abcde') {
    await client.send(byte)
    await upstream.changes.when(() => upstream.requests[0]?.body.text.at(-1) === byte, `the byte ${byte}`)
  }
  expect((await client.answer()).status).toBe(200)
  expect(upstream.last.body.text).toBe('abcde')
  client.close()
})

test.runIf(process.platform === 'linux')('100 MB pass without being held in memory', async () => {
  const small = await peakDuring(Buffer.alloc(25e6, 'octets of no type '))
  const large = await peakDuring(Buffer.alloc(100e6, 'octets of no type '))
  expect(large - small).toBeLessThan(70e6)
})

/** Sends the body through and gives the sidecar's highest resident memory on the way. */
async function peakDuring(body: Buffer): Promise<number> {
  let peak = 0
  upstream.once(async (exchange) => {
    await upstream.changes.when(
      () => {
        peak = Math.max(peak, residentBytes())
        return exchange.request.body.complete
      },
      'the whole body',
      30_000,
    )
    await exchange.answer()
  })
  expect((await send(claim('large', 1, { method: 'POST', body }), 30_000)).status).toBe(200)
  expect(upstream.last.body.sha256).toBe(sha256(body))
  return peak
}

function residentBytes(): number {
  const pages = fs.readFileSync(`/proc/${sidecar.process.pid}/statm`, 'utf8').split(' ')[1]
  return Number(pages) * 4096
}
