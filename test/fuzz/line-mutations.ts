/** Lines of the head: what stands between, before and within their parts. */
import { pick } from '../torture/random.ts'
import { add } from './honest.ts'
import { type Mutations, SEPARATORS, separate, set, split } from './mutation.ts'

const VERSIONS = [
  ...['HTTP/0.9', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/1.10', 'HTTP/01.1', 'HTTP/1.1.1', 'http/1.1'],
  ...['HTTP/1.1 ', 'HTTP/1', 'HTTP/1.', 'HTTP /1.1', 'HTTPS/1.1', 'HTTX/1.1', 'RTSP/1.0', 'ICE/1.0', ''],
]
const METHODS = [
  ...[
    'get',
    'Get',
    'put',
    'GETX',
    'G',
    'PUTPUT',
    'CONNECT',
    'TRACE',
    'PRI',
    '',
    'STORE',
    'M-SEARCH',
    'SOURCE',
  ],
  ...['QUERY', 'P\xdcT', 'A:B', '"PUT"', 'HTTP/1.1', 'UNLINK', 'X'.repeat(63), 'X'.repeat(65)],
]
const NO_FIELDS = [
  'x',
  ':',
  ': x',
  ' x',
  '\tx: y',
  'x y: z',
  'GET / HTTP/1.1',
  'x\r\n y: z',
  '\xff: x',
  '(): x',
]

export const lineMutations: Mutations = {
  'separator in the request line'(draft, random) {
    draft[pick(random, ['space1', 'space2', 'eol'] as const)] = pick(random, SEPARATORS)
  },
  'separator in a field'(draft, random) {
    separate(pick(random, draft.fields), random)
  },
  'separator before or after the head'(draft, random) {
    draft[pick(random, ['lead', 'headEnd'] as const)] = pick(random, SEPARATORS)
  },
  'control in a field'(draft, random) {
    const one = pick(random, draft.fields)
    const part = pick(random, ['name', 'value'] as const)
    one[part] = split(one[part], random)
  },
  'folded value'(draft, random) {
    const one = pick(random, draft.fields)
    one.value += pick(random, ['\r\n ', '\r\n\t', '\n ', '\r '])
    one.value += pick(random, ['', 'x', 'chunked', 'Fencing-Token: 9'])
  },
  'line that is no field'(draft, random) {
    add(draft, random, { name: pick(random, NO_FIELDS), colon: '', space: '', value: '', eol: '\r\n' })
  },
  'control in the target'(draft, random) {
    draft.target = split(draft.target, random)
  },
  'control in the method'(draft, random) {
    draft.method = split(draft.method, random)
  },
  version(draft, random) {
    draft.version = pick(random, VERSIONS)
    if (draft.version === '' && random() < 0.5) draft.space2 = ''
    if (random() < 0.5) set(draft, random, 'Connection', 'keep-alive')
  },
  method(draft, random) {
    draft.method = pick(random, METHODS)
    if (draft.method === 'CONNECT' && random() < 0.5) draft.target = 'a:80'
  },
  'HTTP/2 preface'(draft) {
    draft.lead = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
  },
}
