/** `npm run torture -- --minutes N --seed S [--rounds R] [--faketime] [--main FILE]` */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { torture } from './supervisor.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    rounds: { type: 'string' },
    seed: { type: 'string' },
    faketime: { type: 'boolean' },
    main: { type: 'string' },
  },
})

function count(name: 'minutes' | 'rounds' | 'seed'): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  if (!/^\d+(\.\d+)?$/.test(text)) {
    console.error(`torture: --${name} is ${text}: give a number`)
    process.exit(64)
  }
  return Number(text)
}

const seed = count('seed') ?? Math.floor(Math.random() * 2 ** 31)
const rounds = count('rounds')
const minutes = count('minutes') ?? (rounds === undefined ? 1 : undefined)
console.log(`torture: seed ${seed}`)
const { tally, failure } = await torture({
  seed,
  rounds,
  minutes,
  faketime: values.faketime,
  main: values.main && path.resolve(values.main),
  say: (line) => console.log(line),
})
console.log(JSON.stringify({ seed, ...tally }))
if (failure) console.error(failure)
process.exit(failure ? 1 : 0)
