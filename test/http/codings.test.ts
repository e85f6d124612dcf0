/** Content codings are end to end: nothing is packed, unpacked or asked for on the way. */
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'
import { type HeaderPair, sha256 } from '../support/wire.ts'

const { upstream, send } = await scene()
const TEXT = 'the same text again and again. '.repeat(1000)
const GZIP = gzipSync(TEXT)
const CHUNK = Buffer.from(
  `${(1000).toString(16)};chunk-signature=${'a'.repeat(64)}\r\n${'x'.repeat(1000)}\r\n`,
)
/** What S3 clients send: chunks of their own within the body, with a trailer of their own. */
const AWS = Buffer.concat([CHUNK, CHUNK, Buffer.from('0\r\nx-amz-checksum-crc32:DUoRhQ==\r\n\r\n')])

test.each<[string, HeaderPair[], Buffer]>([
  ['gzip', [['Content-Encoding', 'gzip']], GZIP],
  ['a chain', [['Content-Encoding', 'gzip, br']], brotliCompressSync(GZIP)],
  [
    'a chain in two fields',
    [
      ['Content-Encoding', 'gzip'],
      ['content-encoding', 'br'],
    ],
    brotliCompressSync(GZIP),
  ],
  ['a coding nobody knows', [['Content-Encoding', 'x-own;q=1']], Buffer.from('\0\xff')],
  ['gzip that is none', [['Content-Encoding', 'gzip']], Buffer.from(TEXT)],
  ['identity', [['Content-Encoding', 'identity']], Buffer.from(TEXT)],
  [
    'aws-chunked',
    [
      ['Content-Encoding', 'aws-chunked'],
      ['X-Amz-Decoded-Content-Length', '2000'],
      ['X-Amz-Trailer', 'x-amz-checksum-crc32'],
    ],
    AWS,
  ],
])('%s', async (_, headers, body) => {
  for (const method of ['PUT', 'POST', 'GET']) {
    for (const chunked of [false, true]) {
      upstream.answerOnce({ headers, body, framing: chunked ? 'chunked' : 'length' })
      const answer = await send(claim('K', 1, { method, headers, body, chunked }))
      expect(upstream.last.body.sha256).toBe(sha256(body))
      expect(answer.body.sha256).toBe(sha256(body))
      for (const fields of [upstream.last.headers, answer.headers]) {
        const own = fields.filter(([name]) => /^(content-encoding|x-amz-.*)$/i.test(name))
        expect(own).toEqual(headers)
      }
      if (!chunked) expect(answer.values('content-length')).toEqual([String(body.length)])
    }
  }
})

test("Accept-Encoding is the client's, or not there", async () => {
  for (const headers of [[], [['Accept-Encoding', 'br;q=0.5, *;q=0']]] as HeaderPair[][]) {
    for (const method of ['PUT', 'GET']) {
      await send(claim('K', 1, { method, headers }))
      expect(upstream.last.values('accept-encoding')).toEqual(headers.map(([, value]) => value))
    }
  }
})
