/** Conditions and ranges are for the resource to judge: they and its answers pass as they are. */
import { expect, test } from 'vitest'
import type { RawRequest } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'
import type { Answer } from '../support/upstream-exchange.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, connect, metric } = await scene()
const client = await connect()

const PARTS = [
  '--gap\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/9\r\n\r\nab',
  '--gap\r\nContent-Type: text/plain\r\nContent-Range: bytes 7-8/9\r\n\r\nhi',
  '--gap--\r\n',
].join('\r\n')

const range: HeaderPair = ['Range', 'bytes=0-1,-2']
const moment = 'Tue, 01 Jan 2030 00:00:00 GMT'

test.each<[string, string, HeaderPair[], Answer]>([
  [
    'a condition that holds',
    'PUT',
    [['If-Match', '"a", W/"b"']],
    { status: 204, framing: 'none', headers: [['ETag', '"c"']] },
  ],
  ['a condition that fails', 'PUT', [['If-None-Match', '*']], { status: 412, body: 'mine' }],
  [
    'conditions of WebDAV',
    'PUT',
    [['If', '</x> (<opaquelocktoken:1> ["a"]) (Not <DAV:no-lock>)']],
    { status: 423, body: 'mine' },
  ],
  ['a moment', 'PUT', [['If-Unmodified-Since', moment]], { status: 412 }],
  [
    'what was not modified',
    'GET',
    [
      ['If-None-Match', 'W/"a"'],
      ['If-Modified-Since', moment],
    ],
    {
      status: 304,
      framing: 'none',
      headers: [
        ['ETag', 'W/"a"'],
        ['Content-Length', '42'],
        ['Vary', '*'],
      ],
    },
  ],
  [
    'a range',
    'GET',
    [['Range', 'bytes=2-3']],
    { status: 206, headers: [['Content-Range', 'bytes 2-3/9']], body: 'cd' },
  ],
  [
    'a range in chunks',
    'GET',
    [['Range', 'bytes=2-']],
    { status: 206, headers: [['Content-Range', 'bytes 2-3/*']], body: 'cd', framing: 'chunked' },
  ],
  [
    'ranges',
    'GET',
    [range],
    { status: 206, headers: [['Content-Type', 'multipart/byteranges; boundary=gap']], body: PARTS },
  ],
  [
    'a range that is not there',
    'GET',
    [['Range', 'bytes=10-']],
    { status: 416, headers: [['Content-Range', 'bytes */9']], body: 'mine' },
  ],
  [
    'a range of what has changed',
    'GET',
    [range, ['If-Range', '"old"']],
    { status: 200, headers: [['Accept-Ranges', 'bytes']], body: 'abcdefghi' },
  ],
  [
    'a part that is put',
    'PUT',
    [['Content-Range', 'bytes 2-3/9']],
    { status: 308, headers: [['Range', 'bytes=0-3']] },
  ],
])('%s', async (_, method, headers, scripted) => {
  const request: RawRequest = { method, headers, body: method === 'PUT' ? '{}' : undefined }
  upstream.answerOnce(scripted)
  const answer = await client.exchange(claim('K', 1, request))
  const received = upstream.last.headers.filter(([name]) => headers.some(([other]) => other === name))
  expect(received).toEqual(headers)
  expect([answer.status, answer.body.text]).toEqual([scripted.status, scripted.body ?? ''])
  for (const [name, value] of scripted.headers ?? []) expect(answer.values(name)).toEqual([value])
  expect(answer.values('proxy-status')).toEqual([])
  expect(await metric('fencegate_outcomes_total', { outcome: 'unknown' })).toBe(0)
})
