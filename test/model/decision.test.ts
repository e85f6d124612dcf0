/** The model's decision and the gate's are the same, on every small input. */
import { expect, test } from 'vitest'
import { decide as gateDecides } from '../../src/gate/decision.ts'
import { decide } from './decision.ts'

const NAMES = [undefined, 'x', 'y'] as const
const TOKENS = [1, 2, 3] as const
const EITHER = [false, true] as const

test('the model decides as the gate does', () => {
  const seen = new Set<string>()
  for (const frozen of EITHER)
    for (const token of [0, ...TOKENS])
      for (const complete of EITHER)
        for (const holder of [0, 1, 2])
          for (const lowerOpen of EITHER)
            for (const heldToken of [0, ...TOKENS])
              for (const claimed of TOKENS)
                for (const named of [0, 1, 2]) {
                  const lowerHeld = heldToken !== 0 && heldToken < token
                  const view = { frozen, token, complete, holder, lowerOpen, lowerHeld }
                  const held = heldToken === 0 ? [] : [{ id: 'w', token: BigInt(heldToken) }]
                  const mark = { token: BigInt(token), complete, recorded: token > 0, holder: NAMES[holder] }
                  const decision = gateDecides(
                    { record: { mark, frozen, held }, lowerOpen, maxTokenJump: undefined },
                    {
                      task: 'k',
                      token: BigInt(claimed),
                      ...(named !== 0 && { holder: NAMES[named] as string }),
                    },
                  )
                  seen.add(decision)
                  expect(decide(view, claimed, named), JSON.stringify(view)).toBe(decision)
                }
  expect(seen.size).toBe(9)
})
