/** The oracle's own reader: what it takes, what it does not, and where it stops. */
import { describe, expect, it } from 'vitest'
import { parseStream, type Stream } from './strict.ts'

const parse = (text: string) => parseStream(Buffer.from(text, 'latin1'))
const GET = 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n'
const put = (fields: string, rest = '') => `PUT /x HTTP/1.1\r\nHost: a\r\n${fields}\r\n${rest}`
const chunked = (rest: string) => put('Transfer-Encoding: chunked\r\n', rest)
const seen = ({ requests }: Stream) =>
  requests.map(({ method, target, body }) => `${method} ${target} ${body}`)

describe('takes', () => {
  it.each([
    ['nothing', '', []],
    ['one request', GET, ['GET /a ']],
    ['pipelined ones', GET + put('Content-Length: 2\r\n', 'ab') + GET, ['GET /a ', 'PUT /x ab', 'GET /a ']],
    ['empty lines before', `\r\n\n\r${GET}`, ['GET /a ']],
    ['chunks', chunked('2\r\nab\r\n0A;x="y;z";a;=b\r\n0123456789\r\n000\r\n\r\n'), ['PUT /x ab0123456789']],
    ['trailers', chunked('0\r\nX: y\r\n\r\n') + GET, ['PUT /x ', 'GET /a ']],
    ['a body that looks like a request', put(`Content-Length: ${GET.length}\r\n`, GET), [`PUT /x ${GET}`]],
    [
      'HTTP/1.0 kept open',
      `GET /b HTTP/1.0\r\nConnection: x, Keep-Alive\r\n\r\n${GET}`,
      ['GET /b ', 'GET /a '],
    ],
    ['any method and target', '!x /%zz"<> HTTP/1.1\r\nHost:\r\n\r\n', ['!x /%zz"<> ']],
    [
      'hosts',
      'GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\nGET / HTTP/1.1\r\nHost: a-b.c:8\r\n\r\n',
      ['GET / ', 'GET / '],
    ],
  ])('%s', (_, text, requests) => {
    expect([seen(parse(text)), parse(text).rest]).toEqual([requests, { kind: 'clean' }])
  })

  it('fields as they are, without the space around their values', () => {
    const [request] = parse('PUT /x HTTP/1.1\r\nhOsT:a\r\nX: \t b\xff c \t\r\nX:\r\nX: d\r\n\r\n').requests
    expect(request?.fields).toEqual([
      ['hOsT', 'a'],
      ['X', 'b\xff c'],
      ['X', ''],
      ['X', 'd'],
    ])
  })
})

describe('sees nothing behind', () => {
  it.each([
    ['close', put('Connection: x, CLOSE\r\n')],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
    ['HTTP/1.0 that is kept and closed', 'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('%s', (_, text) => {
    const { requests, rest } = parse(text + GET)
    expect([requests.length, rest]).toEqual([1, { kind: 'closed', at: text.length }])
  })
})

describe('waits for more of', () => {
  it.each([
    ['a line', 'GET /a HTT', undefined],
    ['a head', 'GET /a HTTP/1.1\r\nHost: a\r\n', undefined],
    ['a body', put('Content-Length: 3\r\n', 'ab'), 'ab'],
    ['a body of any length', put('Content-Length: 18446744073709551615\r\n', 'ab'), 'ab'],
    ['a chunk line', chunked('2\r\nab\r\n0'), 'ab'],
    ['a chunk', chunked('3\r\nab'), 'ab'],
    ['the end of a chunk', chunked('2\r\nab\r'), 'ab'],
    ['trailers', chunked('2\r\nab\r\n0\r\nX: y\r\n'), 'ab'],
  ])('%s', (_, text, body) => {
    const { requests, rest } = parse(GET + text)
    expect([requests.length, rest.kind]).toEqual([1, 'incomplete'])
    const begun = 'begun' in rest ? rest.begun : undefined
    expect(begun?.body.toString()).toBe(body)
    expect(begun?.whole ?? false).toBe(false)
  })
})

describe('gives up on', () => {
  it.each([
    ['a bare LF', 'GET / HTTP/1.1\nHost: a\r\n\r\n'],
    ['a bare LF', put('X: y\n')],
    ['a bare LF', `${put('X: y\r\n').slice(0, -2)}\n`],
    ['a bare CR', put('X: y\rz\r\n')],
    ['a request line that is none', 'GET /\r\n\r\n'],
    ['a request line that is none', 'GET / HTTP/1.2\r\nHost: a\r\n\r\n'],
    ['a request line that is none', 'GET / HTTP/2.0\r\n\r\n'],
    ['a request line that is none', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a request line that is none', 'GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a request line that is none', 'GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a request line that is none', ' GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a method that is no token', 'G(T / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a field name that is no token', put('X : y\r\n')],
    ['a field name that is no token', put('X: y\r\n z\r\n')],
    ['a field name that is no token', put(': y\r\n')],
    ['a field name that is no token', put('X\r\n')],
    ['a control character in a field value', put('X: a\0b\r\n')],
    ['a control character in a field value', put('X: a\x7f\r\n')],
    ['not one Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['not one Host', put('host: b\r\n')],
    ['a Host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['a Host that is none', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['more than one field delimits the body', put('Content-Length: 0\r\nContent-Length: 0\r\n')],
    ['more than one field delimits the body', put('Content-Length: 0\r\nTransfer-Encoding: chunked\r\n')],
    [
      'more than one field delimits the body',
      put('Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n'),
    ],
    ...['+1', '-1', '1,1', '1 1', '0x1', '', '1;'].map((length) => [
      'a Content-Length that is none',
      put(`Content-Length: ${length}\r\n`, 'a'),
    ]),
    ['a Content-Length beyond counting', put('Content-Length: 18446744073709551616\r\n')],
    ...['gzip, chunked', 'identity', 'xchunked', 'chunked;q=1', '"chunked"', ''].map((coding) => [
      'a transfer coding that is not chunked',
      put(`Transfer-Encoding: ${coding}\r\n`, '0\r\n\r\n'),
    ]),
    ['a transfer coding in HTTP/1.0', 'PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ...['', '0x1', '+1', '-1', ' 1', '1 ', '1 ;a', 'g', '1\x0b'].map((size) => [
      'a chunk size that is none',
      chunked(`${size}\r\na\r\n0\r\n\r\n`),
    ]),
    ...[';', ';a;', '; a', ';a b', ';a="', ';a\x0b'].map((extension) => [
      'a chunk extension that is none',
      chunked(`1${extension}\r\na\r\n0\r\n\r\n`),
    ]),
    ['a chunk size beyond counting', chunked('10000000000000001\r\na\r\n0\r\n\r\n')],
    ['chunk extensions without end', chunked(`1;${'a'.repeat(20_000)}\r\na\r\n0\r\n\r\n`)],
    ['a chunk that is longer than it says', chunked('1\r\nab\r\n0\r\n\r\n')],
    ['a bare LF', chunked('1\na\r\n0\r\n\r\n')],
    ['a bare CR', chunked('1\r\na\rb0\r\n\r\n')],
    ['a field name that is no token', chunked('0\r\nX : y\r\n\r\n')],
    ['a trailer that delimits the body', chunked('0\r\ncontent-length: 1\r\n\r\n')],
  ])('%s: %j', (why, text) => {
    const { requests, rest } = parse(GET + text + GET)
    expect(requests.length).toBe(1)
    expect(rest).toMatchObject({ kind: 'invalid', why })
    if (rest.kind === 'invalid') expect(rest.begun?.whole ?? false).toBe(false)
  })

  it('a chunk, but keeps what came before it', () => {
    const { rest } = parse(chunked('2\r\nab\r\nx\r\n'))
    expect('begun' in rest && rest.begun?.body.toString()).toBe('ab')
  })
})
