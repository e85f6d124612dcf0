/** Honest requests: valid in every reading, with current tokens, as odd as real clients are. */
import { METHODS } from 'node:http'
import { between, pick, type Random } from '../torture/random.ts'
import { GOOD } from './behaviours.ts'
import { chunk, type Draft, type DraftField, field, lastChunk } from './draft.ts'
import { TAG } from './input.ts'
import { FLOOR } from './rules.ts'

/** What the requests of one input have in common. */
export interface Author {
  readonly random: Random
  readonly holder: string | undefined
  /** The token of the next write; it may only rise, and only where the input has one connection. */
  token: bigint
}

export function author(random: Random): Author {
  return {
    random,
    token: pick(random, [FLOOR, FLOOR, 9n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 2n]),
    holder: random() < 0.2 ? 'worker-1' : undefined,
  }
}

const WRITES = ['PUT', 'PUT', 'PUT', 'POST', 'POST', 'PATCH', 'DELETE', 'MKCOL', 'PROPFIND', 'LOCK', 'MOVE']
const KNOWN_WRITES = METHODS.filter(
  (method) => !['GET', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE'].includes(method),
)
/** Only the first request of a connection can have a method that Node doesn't know. */
const UNKNOWN = ['STORE', 'X!#$%&', 'put']
const READS = ['GET', 'GET', 'HEAD', 'OPTIONS']
const TARGETS = [
  '/x',
  '/',
  '//',
  '/a//b/',
  '/a%2Fb',
  '/%41%zz%',
  '/a/../b/./c',
  '/a;b=c,d?e=%2F&f=../g',
  '/x??a=b',
  '/a!$&\'()*+|{}[]^`"<>',
  '/\\host/x',
  '/settlements',
]
const BODIES = ['', 'a', '{}', '{"a":1}\n', '\0\x01\xff\r\n\r\n', '0\r\n\r\n', 'x'.repeat(1000)]
const EXTRAS: readonly (readonly [string, string])[] = [
  ['Cookie', 'a=b'],
  ['cookie', 'c=d'],
  ['Accept', '*/*'],
  ['X-Empty', ''],
  ['X-Latin', 'caf\xe9 \xff'],
  ['X-Tab', 'a\tb'],
  ["!#$%&'*+-.^_`|~", 'odd name'],
  ['X_Under', '1'],
  ['Idempotency-Key', 'op-1'],
  ['Content-Type', 'application/json'],
  ['Authorization', 'Bearer x'],
  ['Keep-Alive', 'timeout=5'],
  ['TE', 'trailers'],
  ['Connection', 'keep-alive'],
  ['X-Long', 'v'.repeat(3000)],
]

const BEHAVIOURS = Object.keys(GOOD)

/** @param first whether it is the first of its connection. */
export function honestRequest(author: Author, id: string, first: boolean): Draft {
  const { random } = author
  const reads = random() < 0.15
  const methods = first && random() < 0.1 ? UNKNOWN : random() < 0.3 ? KNOWN_WRITES : WRITES
  const draft: Draft = {
    lead: '',
    method: pick(random, reads ? READS : methods),
    space1: ' ',
    target: pick(random, TARGETS),
    space2: ' ',
    version: 'HTTP/1.1',
    eol: '\r\n',
    fields: [field('X-Fuzz-Id', `${TAG}.${id}`)],
    headEnd: '\r\n',
    body: '',
    chunks: [],
    trailers: [],
    end: '',
  }
  if (!reads) claim(draft, author)
  if (random() < 0.4) add(draft, random, field('X-Fuzz-Do', pick(random, BEHAVIOURS)))
  const extras = random() < 0.5 ? between(random, 1, 5) : 0
  for (let i = 0; i < extras; i++) add(draft, random, field(...pick(random, EXTRAS)))
  draft.fields.splice(
    random() < 0.8 ? 0 : between(random, 0, draft.fields.length),
    0,
    field('Host', 'a.test:80'),
  )
  if (!reads || random() < 0.1) delimit(draft, random, pick(random, BODIES))
  return draft
}

/** Puts the field in a random place. */
export function add({ fields }: Draft, random: Random, one: DraftField): void {
  fields.splice(between(random, 0, fields.length + 1), 0, one)
}

function claim(draft: Draft, { random, token, holder }: Author): void {
  const inPath = random() < 0.15
  const open = !inPath && random() < 0.1
  if (open) draft.target = pick(random, ['/open/x', '/open/'])
  if (inPath) draft.target = `/settlements/task-${TAG}/${pick(random, ['', 'x', 'a?b=c'])}`
  if (open && random() < 0.5) return
  if (!inPath || random() < 0.3) add(draft, random, field('Fencing-Task', `task-${TAG}`))
  const name = pick(random, ['Fencing-Token', 'fencing-token', 'FENCING-TOKEN'])
  add(draft, random, field(name, String(token)))
  if (holder !== undefined) add(draft, random, field('Fencing-Holder', holder))
}

/** Gives the request a body, in one of the two ways, or none if it is empty. */
export function delimit(draft: Draft, random: Random, body: string): void {
  if (random() < 0.4) {
    const at = between(random, 0, body.length + 1)
    const parts = [body.slice(0, at), body.slice(at)].filter((part) => part !== '')
    draft.chunks = [...parts.map(chunk), lastChunk()]
    draft.end = '\r\n'
    add(draft, random, field('Transfer-Encoding', 'chunked'))
    if (random() < 0.2)
      for (const one of draft.chunks) one.extension = pick(random, [';a', ';a=b', ';a="b c"'])
  } else if (body !== '' || random() < 0.5) {
    draft.body = body
    add(draft, random, field('Content-Length', String(body.length)))
  }
  // Without a body to wait for, Node closes the connection after the answer.
  if (body !== '' && random() < 0.1) add(draft, random, field('Expect', '100-continue'))
}
