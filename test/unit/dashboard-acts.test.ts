/** What an operator is asked before an act, and told of what it will do. */
import { describe, expect, it } from 'vitest'
import { dashboard } from '../support/dashboard.ts'

const { TASK_ACTS, reasonFault, tokenFault } = await dashboard('acts')

const task = { task: 'k', mark: '9', passes: '9', frozen: false, openWrites: 2 }
const effects = (name: string, values: object, of: object = {}) =>
  TASK_ACTS[name].effects(values, { ...task, ...of }).join(' ')
const fault = (name: string, values: object, of: object = {}) =>
  TASK_ACTS[name].check(values, { ...task, ...of })

describe('acts', () => {
  it.each(['', '0', '09', '+9', '9.0', '1e3', '0x10', '9223372036854775808', 'nine'])(
    'take %j for no token',
    (text) => expect(tokenFault(text, 1n)).toContain('whole number'),
  )

  it('compare tokens exactly', () => {
    expect(tokenFault('9007199254740992', 9007199254740993n)).toContain('9007199254740993 already')
    expect(tokenFault('9007199254740993', 9007199254740993n)).toBeUndefined()
  })

  it('want a reason', () => {
    expect(reasonFault(' \n')).toContain('reason')
    expect(reasonFault('x'.repeat(4097))).toContain('4096')
    expect(reasonFault('INC-1')).toBeUndefined()
  })

  it('say which writes may be at the resource already', () => {
    expect(effects('freeze', {})).toContain('2 writes are open')
    expect(effects('freeze', {}, { openWrites: 0 })).toContain('No write is open')
  })

  it('raise to a token at or above the mark, and warn of one far above it', () => {
    expect(fault('raise', { token: '8' })).toContain('9 already')
    expect(fault('raise', { token: '10' })).toBeUndefined()
    expect(effects('raise', { token: '10' })).not.toContain('above the mark')
    expect(effects('raise', { token: '5009' })).toContain('above the mark')
  })

  it('fence out by exactly one', () => {
    expect(TASK_ACTS.fence.field(task).value).toBe('9')
    expect(effects('fence', { token: '9007199254740993' })).toContain(
      'from 9007199254740993 to 9007199254740994',
    )
  })

  it('thaw with or without the token of a new holder', () => {
    expect(fault('thaw', { token: '' })).toBeUndefined()
    expect(fault('thaw', { token: '8' })).toContain('9 already')
    expect(effects('thaw', { token: '' })).toContain('token 9 or above')
    expect(effects('thaw', { token: '12' })).toContain('goes to 12')
  })

  it('reset only what is frozen, and only downwards', () => {
    expect(fault('reset', { to: '5' })).toContain('Freeze the task first')
    expect(fault('reset', { to: '9' }, { frozen: true })).toContain('a reset sets it lower')
    expect(fault('reset', { to: '5' }, { frozen: true })).toBeUndefined()
  })
})
