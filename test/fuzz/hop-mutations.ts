/** Fields that are for the next hop, and what a hop has to bear. */
import { between, pick } from '../torture/random.ts'
import { BAD } from './behaviours.ts'
import { field } from './draft.ts'
import { add, delimit } from './honest.ts'
import { drop, type Mutations, set } from './mutation.ts'

const NOMINEES = [
  ...[
    'Fencing-Token',
    'fencing_token',
    'Fencing-Task',
    'content-length',
    'transfer-encoding',
    'host',
    'close',
    'x',
  ],
  ...[
    'upgrade',
    'X-Fuzz-Id',
    'keep-alive',
    'close, keep-alive',
    'authorization',
    'te',
    'Fencing-Token, close',
    '',
  ],
]
const EXPECTATIONS = [
  '100-continue',
  '100-Continue',
  '100-continue, 100-continue',
  '100',
  'x',
  '',
  '100-continue;a',
]
const HOSTS = [
  '',
  'a b',
  'a/b',
  '[::1]:1',
  'a:b',
  'a@b',
  'a\x7fb',
  'a,b',
  '\xff',
  'a?',
  'a:80:80',
  '[::1',
  '%zz',
]

export const hopMutations: Mutations = {
  connection(draft, random) {
    const name = pick(random, ['Connection', 'connection', 'Proxy-Connection', 'Trailer'])
    add(draft, random, field(name, pick(random, NOMINEES)))
  },
  upgrade(draft, random) {
    add(draft, random, field('Upgrade', pick(random, ['h2c', 'websocket', 'h2c, websocket', 'TLS/1.0', ''])))
    set(
      draft,
      random,
      'Connection',
      pick(random, ['Upgrade', 'Upgrade, HTTP2-Settings', 'keep-alive, upgrade']),
    )
    if (random() < 0.5) add(draft, random, field('HTTP2-Settings', 'AAMAAABkAAQAAP__'))
    if (random() < 0.5) add(draft, random, field('Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='))
  },
  expect(draft, random) {
    add(draft, random, field('Expect', pick(random, EXPECTATIONS)))
    if (random() < 0.3) add(draft, random, field('Expect', '100-continue'))
  },
  host(draft, random) {
    const kind = pick(random, ['none', 'two', 'odd'] as const)
    if (kind === 'none') drop(draft, 'host')
    else if (kind === 'two') add(draft, random, field('host', pick(random, ['a', 'b', ''])))
    else set(draft, random, 'Host', pick(random, HOSTS))
  },
  'many fields'(draft, random) {
    const count = between(random, 90, random() < 0.5 ? 300 : 1500)
    for (let i = 0; i < count; i++) draft.fields.push(field(`X-${i}`, ''))
    if (random() < 0.5) draft.fields.push(field('Fencing-Token', '9'))
    if (random() < 0.3) draft.fields.push(field('Transfer-Encoding', 'chunked'))
  },
  'long head'(draft, random) {
    add(draft, random, field('X-Long', 'v'.repeat(between(random, 15_000, 20_000))))
  },
  'long body'(draft, random) {
    drop(draft, 'content-length')
    drop(draft, 'transfer-encoding')
    draft.chunks = []
    delimit(draft, random, 'b'.repeat(between(random, 60_000, 140_000)))
  },
  'bad resource'(draft, random) {
    set(draft, random, 'X-Fuzz-Do', pick(random, Object.keys(BAD)))
  },
}
