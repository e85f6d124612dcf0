/** A short run of the fuzzer. The long one is `npm run fuzz -- --seconds N --seed S`. */
import { expect, it } from 'vitest'
import { fuzz } from './fuzz.ts'
import { generate } from './generate.ts'
import { parseStream } from './strict.ts'

const INPUTS = 1200
const SECONDS = 12
/** The same inputs in each run: what they find was looked at. FENCEGATE_SEED and the command look for more. */
const SEED = Number(process.env.FENCEGATE_SEED ?? 20_261_129)

it('forwards what a strict reader sees, or nothing', async () => {
  const seed = SEED
  console.log(`fuzz: seed ${seed}`)
  const { tally, failures } = await fuzz({ seed, inputs: INPUTS, seconds: SECONDS })
  console.log(`fuzz: seed ${seed} ${tally}`)
  expect(failures).toEqual([])
  // A run in which nothing is forwarded, or everything, would show nothing.
  const { inputs, honest, forwarded, refused, invalid } = tally
  for (const part of [honest, forwarded, refused, invalid]) expect(part).toBeGreaterThan(inputs / 10)
})

it('makes the same input from the same seed, and honest ones valid', () => {
  for (let index = 0; index < 300; index++) {
    const input = generate(1, index)
    expect(generate(1, index)).toEqual(input)
    if (!input.honest) continue
    for (const { bytes } of input.connections)
      expect(parseStream(bytes).rest.kind).toMatch(/^(clean|closed)$/)
  }
})
