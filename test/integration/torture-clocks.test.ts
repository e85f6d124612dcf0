/** The torture with stepped wall clocks, which needs libfaketime. */
import { expect, it } from 'vitest'
import { torture } from '../torture/supervisor.ts'

const ROUNDS = 4
const ROUNDS_PER_EPISODE = 2

it('keeps every promise while the wall clock of each process is stepped', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  console.log(`torture: seed ${seed}`)
  const { tally, failure } = await torture({
    seed,
    rounds: ROUNDS,
    roundsPerEpisode: ROUNDS_PER_EPISODE,
    faketime: true,
  })
  expect(failure).toBeUndefined()
  expect(tally.rounds).toBe(ROUNDS)
  expect(tally.writesSeen).toBeGreaterThan(50)
}, 300_000)
