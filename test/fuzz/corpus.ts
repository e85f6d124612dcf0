/**
 * Inputs that are worth keeping: tricks that fooled other proxies, and what the fuzzer has found here. Each is put
 * through alone and judged as a generated one is.
 */
import { type Input, TAG } from './input.ts'

export interface Kept {
  readonly name: string
  readonly input: Input
  /** How many requests must reach the resource whole. */
  readonly forwards: number
}

const claim = `Fencing-Task: task-${TAG}\r\nFencing-Token: 9\r\n`
let ids = 0
const head = (line: string, fields = '') =>
  `${line}\r\nHost: a\r\nX-Fuzz-Id: ${TAG}.0.${ids++}\r\n${fields}\r\n`
const put = (fields = '', body = '') => head('PUT /x HTTP/1.1', claim + fields) + body
const inner = put('Content-Length: 0\r\n')
const chunked = (body: string, fields = '') => put(`Transfer-Encoding: chunked\r\n${fields}`, body)
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: h2c\r\n'

interface Sending {
  /** Where a new write begins. */
  readonly cuts?: readonly number[]
  readonly leaving?: 'wait' | 'end' | 'reset'
}

function kept(
  name: string,
  forwards: number,
  text: string,
  { cuts = [], leaving = 'wait' }: Sending = {},
): Kept {
  const bytes = Buffer.from(text, 'latin1')
  return { name, forwards, input: { connections: [{ bytes, cuts, leaving }], honest: false, notes: [name] } }
}

export const CORPUS: readonly Kept[] = [
  kept('plain', 2, put('Content-Length: 2\r\n', 'ab') + chunked('2\r\nab\r\n0\r\n\r\n')),
  kept(
    'a length and chunks',
    0,
    put(`Content-Length: 5\r\nTransfer-Encoding: chunked\r\n`, `0\r\n\r\n${inner}`),
  ),
  kept(
    'chunks and a length of all',
    0,
    chunked(`0\r\n\r\n${inner}`, `Content-Length: ${5 + inner.length}\r\n`),
  ),
  kept('two lengths', 0, put(`Content-Length: 0\r\nContent-Length: ${inner.length}\r\n`, inner)),
  kept('two equal lengths', 0, put('Content-Length: 1\r\nContent-Length: 1\r\n', 'a')),
  kept('a joined length', 0, put('Content-Length: 1, 1\r\n', 'a')),
  kept('a signed length', 0, put('Content-Length: +1\r\n', 'a')),
  kept('a length with _', 1, put('Content_Length: 5\r\nContent-Length: 1\r\n', 'a')),
  kept('a space before the colon', 0, put('Content-Length : 1\r\n', 'a')),
  kept('a length on a folded line', 0, put('X: y\r\n Content-Length: 5\r\n', inner)),
  kept('a bare LF in the head', 0, put(`X: y\nContent-Length: ${inner.length}\r\n`, inner)),
  kept('a bare CR in the head', 0, put('X: y\rTransfer-Encoding: chunked\r\n', inner)),
  kept('a NUL in the head', 0, put('X: y\0z\r\n', inner)),
  ...[
    'xchunked',
    'identity',
    'chunked, identity',
    'gzip, chunked',
    '"chunked"',
    '\x0bchunked',
    'chunked;q=1',
  ].map((coding) =>
    kept(`the coding ${coding}`, 0, put(`Transfer-Encoding: ${coding}\r\n`, `0\r\n\r\n${inner}`)),
  ),
  kept('the coding twice', 0, chunked(`0\r\n\r\n${inner}`, 'Transfer-Encoding: chunked\r\n')),
  ...['0x1', '+1', '-1', '1 ', '1\t', 'g', '10000000000000001'].map((size) =>
    kept(`a chunk of size ${size}`, 0, chunked(`${size}\r\na\r\n0\r\n\r\n${inner}`)),
  ),
  kept('a bare LF after a chunk size', 0, chunked(`1\na\r\n0\r\n\r\n${inner}`)),
  kept('a bare LF after a chunk', 0, chunked(`1\r\na\n0\r\n\r\n${inner}`)),
  kept('a bare LF in a chunk extension', 0, chunked(`1;a\n\r\na\r\n0\r\n\r\n${inner}`)),
  kept('a chunk that is longer than it says', 0, chunked(`1\r\nab\r\n0\r\n\r\n${inner}`)),
  kept(
    'a token in the trailer',
    0,
    `${head('PUT /x HTTP/1.1', `Fencing-Task: task-${TAG}\r\nTransfer-Encoding: chunked\r\n`)}0\r\nFencing-Token: 9\r\n\r\n`,
  ),
  kept('a body that looks like a request', 1, put(`Content-Length: ${inner.length}\r\n`, inner)),
  kept('a target with another one in it', 0, head('PUT /x HTTP/1.1\r\nHost: b\r\n\r\n HTTP/1.1', claim)),
  kept('escapes', 1, head('PUT /a%2Fb%0d%0a%00%zz HTTP/1.1', claim)),
  kept('dots and slashes', 1, head('PUT //a/../b/./c HTTP/1.1', claim)),
  kept(
    'a path that leaves the open route',
    0,
    head('PUT /open/..%2fx HTTP/1.1') + head('PUT /open\\..\\x HTTP/1.1'),
  ),
  kept('an absolute target', 0, head('PUT http://127.0.0.1:1/x HTTP/1.1', claim)),
  kept('the token twice', 0, put('Fencing-Token: 9\r\n')),
  kept('the token twice, another first', 0, head('PUT /x HTTP/1.1', `Fencing-Token: 7\r\n${claim}`)),
  kept(
    'the token joined',
    0,
    head('PUT /x HTTP/1.1', `Fencing-Task: task-${TAG}\r\nFencing-Token: 9, 7\r\n`),
  ),
  kept('the token with _', 0, put('Fencing_Token: 7\r\n')),
  kept('the token dropped by the next hop', 0, put('Connection: fencing-token\r\n')),
  kept('a stale token', 0, head('PUT /x HTTP/1.1', `Fencing-Task: task-${TAG}\r\nFencing-Token: 7\r\n`)),
  kept('HTTP/0.9', 0, 'GET /x\r\n\r\n'),
  kept('HTTP/2', 0, `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${inner}`),
  // What was found here.
  kept(
    'chunks in HTTP/1.0',
    0,
    `${head('PUT /x HTTP/1.0', `${claim}Transfer-Encoding: chunked\r\n`)}0\r\n\r\n`,
  ),
  kept('a Host that is none', 0, `PUT /x HTTP/1.1\r\nHost: a b\r\n${claim}\r\n`),
  kept(
    'a length that no float holds',
    0,
    `${head('GET /x HTTP/1.1', 'Content-Length: 9007199254740993\r\n')}a`,
  ),
  kept('a request behind two Hosts', 0, put('Host: b\r\nContent-Length: 0\r\n') + inner),
  kept(
    'a request behind another coding',
    1,
    inner + put('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n') + put(),
  ),
  behindUpgrade(),
  kept('CONNECT, and a reset', 0, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', { leaving: 'reset' }),
  kept('a refused body that never comes', 0, head('PUT /x HTTP/1.1', 'Content-Length: 9\r\n')),
]

/** What comes in one packet with the end of a request that asks for an upgrade was lost, and its body read as a request. */
function behindUpgrade(): Kept {
  const first = head('GET /x HTTP/1.1', UPGRADE) + put(`Content-Length: ${inner.length}\r\n`)
  return kept('a body behind an upgrade', 1, first + inner, { cuts: [first.length] })
}
