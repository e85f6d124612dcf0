/** Where a body ends: lengths and transfer codings, spelt oddly, repeated, contradicting each other. */
import { between, pick, type Random } from '../torture/random.ts'
import { type Draft, field } from './draft.ts'
import { add } from './honest.ts'
import { type Mutations, named, reframe, SEPARATORS, SMUGGLED, set, split } from './mutation.ts'

const lengths = (length: number): string[] => [
  ...['+', '-', ' ', '0', '00', '0x', '\t', '\x0b', '\0', '"'].map((before) => before + length),
  ...[' ', ';', ',', '.0', 'e0', '\t', '\0', ' 0', '\x0c', '_', 'n', '\xb2'].map((after) => length + after),
  ...[`${length},${length}`, `${length}, ${length}`, `${length}, 0`, `0, ${length}`, '', ' ', 'a', '-1'],
  ...[length + 1, length - 1, length + 2 ** 32, 2 ** 31, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n].map(String),
  String(2n ** 64n + BigInt(length)),
]

const CODINGS = [
  ...'Chunked|CHUNKED| chunked|\tchunked|chunked |chunked\t|\x0bchunked|chunked\x0b|chunked\0|\0chunked'.split(
    '|',
  ),
  ...'"chunked"|xchunked|chunkedx|chunk|chunked;q=1|chunked;|chunked,|,chunked|chunked chunked|trailers'.split(
    '|',
  ),
  ...'chunked, chunked|chunked,identity|identity|identity, chunked||gzip|gzip, chunked|chunked, gzip'.split(
    '|',
  ),
  ...'x\r\n chunked|\r\n chunked|chunked\r\n\t|chunked\n|chunked\rx|\xa0chunked|chunked\xa0|ch\xfcnked'.split(
    '|',
  ),
]

const LENGTH_NAMES = ['Content-Length', 'content-length', 'CONTENT-LENGTH', 'Content_Length']
const CODING_NAMES = ['Transfer-Encoding', 'transfer-encoding', 'Transfer_Encoding']

const addLength = (draft: Draft, random: Random, lengths: readonly number[]) =>
  add(draft, random, field(pick(random, LENGTH_NAMES), String(pick(random, lengths))))

export const framingMutations: Mutations = {
  'length spelt oddly'(draft, random) {
    reframe(draft, random, false)
    set(draft, random, 'Content-Length', pick(random, lengths(draft.body.length)))
  },
  'length twice'(draft, random) {
    reframe(draft, random, false)
    const { length } = draft.body
    addLength(draft, random, [length, length, 0, length + 1])
  },
  'length beside chunks'(draft, random) {
    reframe(draft, random, true)
    const encoded = draft.chunks.reduce(
      (sum, { size, data, end }) => sum + size.length + data.length + end.length + 2,
      2,
    )
    addLength(draft, random, [0, 3, 5, encoded])
  },
  'chunks beside length'(draft, random) {
    reframe(draft, random, false)
    add(draft, random, field(pick(random, CODING_NAMES), pick(random, ['chunked', ...CODINGS])))
  },
  'coding spelt oddly'(draft, random) {
    reframe(draft, random, true)
    set(draft, random, 'Transfer-Encoding', pick(random, CODINGS))
  },
  'coding twice'(draft, random) {
    reframe(draft, random, true)
    add(draft, random, field(pick(random, CODING_NAMES), pick(random, ['chunked', ...CODINGS])))
  },
  'framing field spelt oddly'(draft, random) {
    reframe(draft, random, random() < 0.5)
    const [one] = [...named(draft, 'content-length'), ...named(draft, 'transfer-encoding')]
    if (!one) return
    const at = between(random, 0, one.name.length)
    if (random() < 0.5) one.name = split(one.name, random)
    else one.name = one.name.slice(0, at) + pick(random, SEPARATORS) + one.name.slice(at + 1)
  },
  'chunked in HTTP/1.0'(draft, random) {
    reframe(draft, random, true)
    draft.version = 'HTTP/1.0'
    if (random() < 0.7) set(draft, random, 'Connection', 'keep-alive')
  },
  'a body that looks like a request'(draft, random) {
    reframe(draft, random, random() < 0.5)
  },
  'length of another body'(draft, random) {
    reframe(draft, random, false)
    draft.body = pick(random, ['', 'a', SMUGGLED, SMUGGLED.slice(0, 30)])
  },
}
