/** A short torture of real processes. The long one is `npm run torture -- --minutes N --seed S`. */
import { expect, it } from 'vitest'
import { torture } from '../torture/supervisor.ts'

/** Two casts of processes: with and without intents on every route. */
const ROUNDS = 4
const ROUNDS_PER_EPISODE = 2

it('keeps every promise under stops, kills, partitions and failing commits', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  console.log(`torture: seed ${seed}`)
  const { tally, failure } = await torture({ seed, rounds: ROUNDS, roundsPerEpisode: ROUNDS_PER_EPISODE })
  expect(failure).toBeUndefined()
  expect(tally.rounds).toBe(ROUNDS)
  // A run in which nothing is written, or nobody is stale, would show nothing.
  expect(tally.writesSeen).toBeGreaterThan(50)
  expect(tally.stale).toBeGreaterThan(5)
})
