/**
 * Each of the rules broken one at a time is caught, by the promise that it breaks. `FENCEGATE_MODEL=large`
 * also looks for each where states are told apart exactly: the shortest story must be as long.
 */
import { afterAll, expect, test } from 'vitest'
import { explore } from './explore.ts'
import { FAULTS } from './faults.ts'
import { SCOPES } from './scopes.ts'

const LARGE = process.env.FENCEGATE_MODEL === 'large'

const report: string[] = []

test.each(FAULTS)('$name breaks $breaks', ({ name, breaks, within, Rules }) => {
  const scope = SCOPES[within]
  const { counterexample, states } = explore(new Rules(scope), scope, [breaks])
  expect(counterexample, `the model is too weak to catch this in ${states} states`).toBeDefined()
  report.push(`${breaks}: ${name}, in ${counterexample?.story.length} steps`)
  if (!LARGE) return
  const exact = explore(new Rules(scope), scope, [breaks], 'exact')
  expect(exact.counterexample?.story.length).toBe(counterexample?.story.length)
})

test('a counterexample is a story', () => {
  const fault = FAULTS.find(({ name }) => name === 'the mark is cached before its commit')
  if (!fault) throw new Error('the fault has another name now')
  const scope = SCOPES[fault.within]
  expect(explore(new fault.Rules(scope), scope, [fault.breaks]).counterexample).toEqual({
    property: 'P3 durable first',
    story: [
      'A1 asks [disk 0, gate ?]',
      "the gate asks for the task's state [disk 0, gate ?]",
      "the task's state is read [disk 0, gate 0]",
      'the gate submits the raise that A1 asks for [disk 0, gate 1✓]',
      'A1 is permitted [disk 0, gate 1✓]',
      "the last check, and A1's first byte leaves [disk 0, gate 1✓]",
    ],
  })
})

afterAll(() => {
  console.info([...report, `${report.length} of ${FAULTS.length} faults caught`].join('\n'))
})
