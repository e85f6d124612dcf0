/** `npm run fuzz -- --seed S --inputs N --seconds N [--first I] [--violations N] [--main FILE]` */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    inputs: { type: 'string' },
    seconds: { type: 'string' },
    first: { type: 'string' },
    violations: { type: 'string' },
    main: { type: 'string' },
  },
})

function count(name: 'seed' | 'inputs' | 'seconds' | 'first' | 'violations'): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  if (!/^\d+$/.test(text)) {
    console.error(`fuzz: --${name} is ${text}: give a whole number`)
    process.exit(64)
  }
  return Number(text)
}

const seed = count('seed') ?? Math.floor(Math.random() * 2 ** 31)
const inputs = count('inputs')
console.log(`fuzz: seed ${seed}`)
const { tally, failures } = await fuzz({
  seed,
  inputs,
  seconds: count('seconds') ?? (inputs === undefined ? 60 : undefined),
  first: count('first'),
  violations: count('violations'),
  main: values.main && path.resolve(values.main),
  say: (line) => console.error(`${line}\n`),
})
for (const [what, { count, example }] of [...tally.differences].sort((a, b) => b[1].count - a[1].count)) {
  console.log(`${count} times (input ${example}): ${what}`)
}
console.log(`fuzz: seed ${seed} ${tally}`)
process.exit(failures.length > 0 ? 1 : 0)
