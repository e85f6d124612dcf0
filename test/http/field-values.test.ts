/** Fields reach the other side byte for byte and in order, both ways: odd names, empty values, any bytes. */
import { expect, test } from 'vitest'
import { claim, scene } from '../support/scene.ts'
import type { HeaderPair } from '../support/wire.ts'

const { upstream, send } = await scene({ limits: { headSize: '64KiB' } })
const HIGH = Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join('')

const FIELDS: readonly [string, HeaderPair[]][] = [
  ['UTF-8', [['X-A', 'caf\xc3\xa9 \xe2\x82\xac']]],
  ['Latin-1', [['X-A', 'caf\xe9']]],
  ['every byte above ASCII', [['X-A', `a${HIGH}a`]]],
  ['printable ASCII', [['X-A', '!"#$%&\'()*+,-./0189:;<=>?@AZ[\\]^_`az{|}~']]],
  ['nothing', [['X-A', '']]],
  ['a tab', [['X-A', 'a\tb']]],
  ['8 KB', [['X-A', 'a'.repeat(8192)]]],
  ['a comma that joins nothing', [['X-A', ',,']]],
  ['a name of every token character', [["!#$%&'*+-.^_`|~09azAZ", '1']]],
  [
    'names that objects have',
    ['__proto__', 'constructor', 'hasOwnProperty', 'toString'].map((name) => [name, '1']),
  ],
  ['a name of one digit', [['1', '2']]],
  [
    'duplicates in order, in their case',
    [
      ['X-A', '1'],
      ['x-a', '2'],
      ['X-B', ''],
      ['X-A', '1'],
      ['X-a', '3'],
    ],
  ],
  [
    'cookies',
    [
      ['Set-Cookie', 'a=1; Path=/'],
      ['Set-Cookie', 'b=2, c=3'],
      ['set-cookie', 'a=1; Path=/'],
    ],
  ],
  ['a hundred', Array.from({ length: 100 }, (_, i): HeaderPair => [`X-${i}`, `${i}`])],
]

test.each(FIELDS)('%s', async (_, fields) => {
  for (const method of ['PUT', 'GET']) {
    upstream.answerOnce({ headers: fields, body: 'mine' })
    const answer = await send(claim('K', 1, { method, headers: fields }))
    expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
    expect(answer.headers.slice(0, fields.length)).toEqual(fields)
    const received = upstream.last.headers.findIndex(([name]) => name === 'Fencing-Token')
    expect(upstream.last.headers.slice(received + 1, received + 1 + fields.length)).toEqual(fields)
  }
})

const LATIN: HeaderPair = ['Content-Disposition', 'attachment; filename="caf\xe9"']
const UTF8: HeaderPair = ['content-disposition', 'attachment; filename="caf\xc3\xa9"']
const LENGTH: HeaderPair = ['Content-Length', '4']

test.each<[string, HeaderPair[]]>([
  ['before the length', [LATIN, UTF8, LENGTH]],
  ['behind the length', [LENGTH, LATIN, UTF8]],
  ['without a length', [['Transfer-Encoding', 'chunked'], LATIN, UTF8]],
])('Content-Disposition %s', async (_, headers) => {
  for (const method of ['PUT', 'GET']) {
    upstream.once(async (exchange) => {
      await exchange.wholeBody()
      exchange.reusable = true
      const body = headers.includes(LENGTH) ? 'mine' : '4\r\nmine\r\n0\r\n\r\n'
      await exchange.write(
        `HTTP/1.1 200 OK\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
      )
    })
    const answer = await send(claim('K', 1, { method }))
    expect([answer.status, answer.body.text]).toEqual([200, 'mine'])
    expect(answer.headers.filter(([name]) => /^content-disposition$/i.test(name))).toEqual([LATIN, UTF8])
  }
})

test("Date, Server, Via and Age are the resource's own, or not there", async () => {
  const own: HeaderPair[] = [
    ['Date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['Server', 'own'],
    ['Via', '1.0 own'],
    ['Age', '1'],
  ]
  for (const headers of [own, []]) {
    for (const method of ['PUT', 'GET']) {
      upstream.answerOnce({ headers })
      const answer = await send(claim('K', 1, { method }))
      expect(answer.headers.filter(([name]) => own.some(([other]) => other === name))).toEqual(headers)
    }
  }
})
