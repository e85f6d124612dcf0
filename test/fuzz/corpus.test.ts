/** The kept inputs, one by one, against a real sidecar. */
import { beforeAll, expect, it } from 'vitest'
import { CORPUS } from './corpus.ts'
import { replay } from './fuzz.ts'
import { described } from './input.ts'
import type { Outcome } from './stage.ts'

let outcomes: readonly Outcome[]

beforeAll(async () => {
  outcomes = await replay(CORPUS.map(({ input }) => input))
})

it.each(CORPUS.map(({ name, forwards, input }, index) => ({ name, forwards, input, index })))(
  '$name',
  ({ forwards, input, index }) => {
    const { violations, runs } = outcomes[index] as Outcome
    expect(
      violations.map(({ rule, message }) => `${rule}: ${message}`),
      described(input),
    ).toEqual([])
    const arrived = runs.flatMap(({ lines }) => lines.flatMap((line) => [...line.arrived.values()]))
    expect(arrived.filter(({ request }) => request.whole).length, described(input)).toBe(forwards)
  },
)
