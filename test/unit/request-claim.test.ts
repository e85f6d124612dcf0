import { describe, expect, test } from 'vitest'
import type { ClaimConfig, Route } from '../../src/config/config.ts'
import { readClaim } from '../../src/request/claim.ts'
import { MAX_TOKEN } from '../../src/token.ts'
import { CLAIM } from '../support/request-config.ts'

function claimOf(rawHeaders: readonly string[], taskInPath?: string, changes: Partial<ClaimConfig> = {}) {
  const matched = { route: {} as Route, fenced: true, task: taskInPath }
  return readClaim({ method: 'PUT', target: '/x', rawHeaders }, matched, { ...CLAIM, ...changes })
}

function refusalOf(rawHeaders: readonly string[], taskInPath?: string, changes: Partial<ClaimConfig> = {}) {
  const result = claimOf(rawHeaders, taskInPath, changes)
  return 'refusal' in result ? result.refusal : undefined
}

const TASK = ['Fencing-Task', 'k']
const TOKEN = ['Fencing-Token', '9']

describe('a sound claim', () => {
  test.each([
    [[...TASK, ...TOKEN]],
    [['Host', 'h', ...TOKEN, 'Accept', '*/*', ...TASK, 'Idempotency-Key', 'op-1']],
    [['FENCING-TASK', 'k', 'fencing-token', '9']],
    [[...TASK, ...TOKEN, 'Connection', 'close', 'Trailer', 'x-checksum']],
    [[...TASK, ...TOKEN, 'Connection', 'keep-alive, x-fencing-token', 'Fencing-Tokens', '8']],
    [[...TASK, ...TOKEN, 'Connection', 'fencing-token-x, authorization', 'X-Fencing-Task', 'other']],
  ])('%j', (rawHeaders) => {
    expect(claimOf(rawHeaders)).toEqual({ claim: { task: 'k', token: 9n } })
  })

  test('a holder that names itself', () => {
    const claim = { task: 'k', token: 9n, holder: 'worker-7' }
    expect(claimOf([...TASK, 'Fencing-Holder', 'worker-7', ...TOKEN])).toEqual({ claim })
  })

  test('the path names the task, alone or as the header does', () => {
    expect(claimOf(TOKEN, 'k')).toEqual({ claim: { task: 'k', token: 9n } })
    expect(claimOf([...TOKEN, ...TASK], 'k')).toEqual({ claim: { task: 'k', token: 9n } })
    expect(claimOf(TOKEN, 'a,b')).toEqual({ claim: { task: 'a,b', token: 9n } })
  })

  test('other header names', () => {
    const names = { taskHeader: 'x-job', tokenHeader: 'x_epoch' }
    expect(claimOf(['X-Job', 'k', 'X_Epoch', '9'], undefined, names)).toEqual({
      claim: { task: 'k', token: 9n },
    })
    expect(refusalOf(['X-Job', 'k', 'X-Epoch', '9'], undefined, names)?.code).toBe('malformed-token')
  })
})

describe('tokens', () => {
  test.each([1n, 2n ** 53n + 1n, MAX_TOKEN - 1n, MAX_TOKEN])('%s is read exactly', (token) => {
    expect(claimOf([...TASK, 'Fencing-Token', String(token)])).toEqual({ claim: { task: 'k', token } })
  })

  test.each([
    '9223372036854775808',
    '1e3',
    '0x10',
    '+9',
    '-1',
    '9.0',
    '09',
    '0',
    '',
    '9 9',
    '9;',
    '"9"',
    '٣',
    '9n',
    '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
    '9'.repeat(20_000),
  ])('%.40s is malformed', (value) => {
    const refusal = refusalOf([...TASK, 'Fencing-Token', value])
    expect(refusal).toMatchObject({ code: 'malformed-token', task: 'k' })
    expect(refusal?.detail.length).toBeLessThan(400)
  })

  test('a token above maxToken is malformed; maxToken itself is not', () => {
    const changes = { maxToken: 1000n }
    expect(claimOf([...TASK, 'Fencing-Token', '1000'], undefined, changes)).toHaveProperty('claim')
    expect(refusalOf([...TASK, 'Fencing-Token', '1001'], undefined, changes)).toMatchObject({
      code: 'malformed-token',
      detail: expect.stringContaining('maxToken 1000'),
    })
  })
})

describe('tasks', () => {
  test.each(['', 'a b', 'é', 'k'.repeat(257), 'k'.repeat(20_000)])('%.10j is malformed', (task) => {
    for (const refusal of [refusalOf([...TOKEN, 'Fencing-Task', task]), refusalOf(TOKEN, task)]) {
      expect(refusal).toMatchObject({ code: 'malformed-task', token: 9n })
      expect(refusal).not.toHaveProperty('task')
      expect(refusal?.detail.length).toBeLessThan(400)
    }
  })

  test('256 visible characters are a task', () => {
    const task = '~'.repeat(256)
    expect(claimOf([...TOKEN, 'Fencing-Task', task])).toEqual({ claim: { task, token: 9n } })
  })

  test('path and header that differ are malformed', () => {
    expect(refusalOf([...TOKEN, ...TASK], 'K')).toMatchObject({
      code: 'malformed-task',
      detail: expect.stringContaining('The path names the task "K" and the fencing-task header "k".'),
    })
  })
})

describe('what is missing', () => {
  test('no token', () => {
    expect(refusalOf(TASK)).toMatchObject({ code: 'token-required', task: 'k' })
    expect(refusalOf([], 'k')).toMatchObject({ code: 'token-required', task: 'k' })
    expect(refusalOf([])?.detail).toContain('the fencing-token header is missing')
  })

  test('no task', () => {
    expect(refusalOf(TOKEN)).toMatchObject({
      code: 'token-required',
      token: 9n,
      detail: expect.stringContaining('the fencing-task header is missing'),
    })
  })

  test('malformed beats missing', () => {
    expect(refusalOf(['Fencing-Task', ''])?.code).toBe('malformed-task')
    expect(refusalOf(['Fencing-Token', ''])?.code).toBe('malformed-token')
  })
})

describe('claims that another reader could take for another one', () => {
  test.each([
    ['two tokens', 'malformed-token', [...TASK, 'Fencing-Token', '7', ...TOKEN]],
    ['one token twice', 'malformed-token', [...TASK, ...TOKEN, ...TOKEN]],
    ['twice, in other cases', 'malformed-token', [...TASK, ...TOKEN, 'FENCING-token', '9']],
    ['an empty second one', 'malformed-token', [...TASK, ...TOKEN, 'Fencing-Token', '']],
    ['joined tokens', 'malformed-token', [...TASK, 'Fencing-Token', '9, 7']],
    ['a trailing comma', 'malformed-token', [...TASK, 'Fencing-Token', '9,']],
    ['a twin after it', 'malformed-token', [...TASK, ...TOKEN, 'Fencing_Token', '7']],
    ['a twin before it', 'malformed-token', [...TASK, 'fencing_token', '9', ...TOKEN]],
    ['a twin alone', 'malformed-token', [...TASK, 'FENCING_TOKEN', '9']],
    ['two tasks', 'malformed-task', [...TOKEN, ...TASK, 'Fencing-Task', 'j']],
    ['one task twice', 'malformed-task', [...TOKEN, ...TASK, ...TASK]],
    ['joined tasks', 'malformed-task', [...TOKEN, 'Fencing-Task', 'k,j']],
    ['a twin of the task', 'malformed-task', [...TOKEN, ...TASK, 'Fencing_Task', 'j']],
    ['two holders', 'malformed-token', [...TOKEN, ...TASK, 'Fencing-Holder', 'a', 'Fencing-Holder', 'a']],
    ['a twin of the holder', 'malformed-token', [...TOKEN, ...TASK, 'Fencing_Holder', 'a']],
    [
      'nominated token',
      'malformed-token',
      [...TASK, ...TOKEN, 'Connection', 'close, Fencing-Token, authorization'],
    ],
    ['nominated in any case', 'malformed-token', [...TASK, ...TOKEN, 'CONNECTION', 'FENCING-TOKEN']],
    [
      'nominated by the second',
      'malformed-token',
      [...TASK, 'Connection', 'close', ...TOKEN, 'Connection', 'x,\tfencing-token'],
    ],
    ['nominated task', 'malformed-task', ['Connection', 'fencing-task ,close', ...TASK, ...TOKEN]],
    ['nominated holder', 'malformed-token', ['Connection', 'fencing-holder', ...TASK, ...TOKEN]],
    ['token in the trailer', 'malformed-token', [...TASK, 'Trailer', 'Fencing-Token']],
    ['token in both', 'malformed-token', [...TASK, ...TOKEN, 'trailer', 'x-sum, fencing-token']],
    ['task in the trailer', 'malformed-task', [...TOKEN, 'Trailer', 'Fencing-Task']],
  ])('%s: %s', (_, code, rawHeaders) => {
    expect(refusalOf(rawHeaders)?.code).toBe(code)
    expect(refusalOf(rawHeaders, 'k')?.code).toBe(code)
  })

  test('the token comes first where both are malformed', () => {
    expect(refusalOf([...TASK, ...TASK, ...TOKEN, ...TOKEN])?.code).toBe('malformed-token')
  })
})
