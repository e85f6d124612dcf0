/** Chunked bodies: sizes, extensions, line ends, trailers. */
import { pick, type Random } from '../torture/random.ts'
import { type Draft, type DraftChunk, field } from './draft.ts'
import { add } from './honest.ts'
import { TAG } from './input.ts'
import { type Mutations, reframe, SEPARATORS, separate } from './mutation.ts'

const sizes = (size: string): string[] => [
  ...['0x', '+', '-', ' ', '\t', '0', '000000000', '0'.repeat(20), '\r\n', '\n', '\0'].map(
    (before) => before + size,
  ),
  ...[' ', '\t', '  ', '\r', '\0', 'g', 'h', '.0', ',', '_', ' 0', '\x0b'].map((after) => size + after),
  ...['', 'g', '-1', `1${'0'.repeat(7)}${size}`, `1${'0'.repeat(15)}${size}`, `1${'0'.repeat(16)}${size}`],
  ...['f'.repeat(8), 'f'.repeat(16), '20000000000000', '8000000000000000', `${size}\r\n${size}`],
]

const EXTENSIONS = [
  ...[
    ';',
    ';a',
    ';a=b',
    ';a="b"',
    ';a="b;c"',
    ';a="b\\"c"',
    ' ;a',
    '; a',
    ';a =b',
    ';a= b',
    ';;',
    ';=',
    ';a=',
    ';a="',
  ],
  ...[
    ';a=\n',
    ';\n',
    ';a="\n0\r\n\r\n"',
    ';a="\r\n0\r\n\r\n"',
    ';a\rb',
    ';a\0',
    ';\xff',
    ';a=b\r',
    'a',
    '=a',
  ],
  ...[`;a=${'b'.repeat(5000)}`, `;a=${'b'.repeat(20_000)}`],
]

const TRAILERS: readonly (readonly [name: string, value: string])[] = [
  ['X-Trailer', '1'],
  ['Fencing-Token', '9'],
  ['Content-Length', '5'],
  ['Transfer-Encoding', 'chunked'],
  ['Host', 'b'],
  ['X-Fuzz-Id', `${TAG}.8.8`],
]

function oneChunk(draft: Draft, random: Random): DraftChunk {
  reframe(draft, random, true)
  return pick(random, draft.chunks)
}

export const chunkMutations: Mutations = {
  'chunk size spelt oddly'(draft, random) {
    const one = oneChunk(draft, random)
    one.size = pick(random, sizes(one.size))
  },
  'chunk extension'(draft, random) {
    oneChunk(draft, random).extension = pick(random, EXTENSIONS)
  },
  'chunk line end'(draft, random) {
    oneChunk(draft, random).eol = pick(random, SEPARATORS)
  },
  'chunk end'(draft, random) {
    oneChunk(draft, random).end = pick(random, [...SEPARATORS, 'x', 'xx', '\r\nx'])
  },
  'chunk longer or shorter than it says'(draft, random) {
    const one = oneChunk(draft, random)
    one.data = random() < 0.5 ? `${one.data}x` : one.data.slice(1)
  },
  'end of chunks'(draft, random) {
    reframe(draft, random, true)
    draft.end = pick(random, [...SEPARATORS, 'x\r\n', ' \r\n'])
  },
  'no last chunk'(draft, random) {
    reframe(draft, random, true)
    draft.chunks.pop()
    if (random() < 0.5) draft.end = ''
  },
  trailers(draft, random) {
    reframe(draft, random, true)
    const one = field(...pick(random, TRAILERS))
    draft.trailers = [one]
    if (random() < 0.3) add(draft, random, field('Trailer', one.name))
    if (random() < 0.3) separate(one, random)
  },
}
