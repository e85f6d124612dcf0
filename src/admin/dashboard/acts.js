/**
 * What an operator can do: what each act asks for, what it will do in words, and what is sent. Nothing here touches the
 * page.
 */
import { counted, grouped } from './format.js'

/** @import { TaskPage } from './types.js' */

/** The largest token: 2^63 - 1. */
const MAX_TOKEN = 9223372036854775807n
/** Beyond any number of grants between two looks at the mark. */
const FAR = 1000n
export const MAX_REASON = 4096

/** @typedef {{ name: 'token' | 'to', label: string, hint: string, value: string, required: boolean }} TokenField */
/** @typedef {Readonly<Record<string, string>>} Values */

/**
 * @typedef {object} TaskAct
 * @property {string} verb `Freeze`: the button, and the heading with the task's name
 * @property {string} summary
 * @property {boolean} [dangerous]
 * @property {(task: TaskPage) => TokenField} [field]
 * @property {(values: Values, task: TaskPage) => string | undefined} check what is wrong with the values
 * @property {(values: Values, task: TaskPage) => string[]} effects what confirming will do, a sentence each
 */

/** @type {Readonly<Record<'freeze' | 'thaw' | 'raise' | 'fence' | 'reset', TaskAct>>} */
export const TASK_ACTS = {
  freeze: {
    verb: 'Freeze',
    summary: 'Refuse every write until the task is thawed.',
    check: () => undefined,
    effects: (_values, task) => [
      'Every write of this task is refused (423) until it is thawed.',
      stillOpen(task),
    ],
  },
  thaw: {
    verb: 'Thaw',
    summary: 'Let writes through again.',
    field: () => ({
      name: 'token',
      label: 'Token of the elected holder',
      hint: 'Optional. The mark is raised to it in the same commit, so that nobody before that holder gets through.',
      value: '',
      required: false,
    }),
    check: ({ token = '' }, task) => (token === '' ? undefined : tokenFault(token, BigInt(task.mark))),
    effects: ({ token = '' }, task) => {
      if (token === '') return [`Writes with token ${passes(task)} or above pass again.`]
      return [
        `The mark goes to ${token}, and writes with token ${token} or above pass.`,
        ...farWarning(token, task),
      ]
    },
  },
  raise: {
    verb: 'Raise the mark',
    summary: 'Make every lower token stale.',
    dangerous: true,
    field: () => ({
      name: 'token',
      label: 'New mark',
      hint: 'A token above the mark.',
      value: '',
      required: true,
    }),
    check: ({ token = '' }, task) => tokenFault(token, BigInt(task.mark)),
    effects: ({ token = '' }, task) => [
      `The mark goes from ${task.mark} to ${token}. Every write with a lower token is refused as stale from then on, and no act but a reset takes that back.`,
      ...farWarning(token, task),
      stillOpen(task),
    ],
  },
  fence: {
    verb: 'Fence out',
    summary: 'Freeze, and make the present token stale, in one commit.',
    dangerous: true,
    field: ({ mark }) => ({
      name: 'token',
      label: 'Token to fence out',
      hint: 'The mark as you know it. If it is another one by now, nothing is done and you are told.',
      value: mark,
      required: true,
    }),
    check: ({ token = '' }) => tokenFault(token, 1n),
    effects: ({ token = '' }, task) => [
      `The task is frozen, and its mark goes from ${token} to ${BigInt(token) + 1n}: whoever holds ${token} can't write any more, not even once it is thawed.`,
      `Thaw it for a holder with token ${BigInt(token) + 1n} or above.`,
      stillOpen(task),
    ],
  },
  reset: {
    verb: 'Reset the mark',
    summary: 'For a mark that no real token can reach. Breaks the promise that stale writes stay out.',
    dangerous: true,
    field: () => ({
      name: 'to',
      label: 'Set the mark to',
      hint: 'At or above the highest token that was ever really granted. The task must be frozen, with nothing open or unknown.',
      value: '',
      required: true,
    }),
    check: ({ to = '' }, task) => {
      if (!task.frozen) return 'Freeze the task first: the mark of a task in use is not reset.'
      const fault = tokenFault(to, 1n)
      if (fault !== undefined || BigInt(to) < BigInt(task.mark)) return fault
      return `The mark is ${task.mark}: a reset sets it lower. To set it higher, raise it.`
    },
    effects: ({ to = '' }, task) => [
      `Asks the sidecar whether the mark can go from ${task.mark} down to ${to}. Nothing is changed yet: a second step does that.`,
    ],
  },
}

/** @typedef {keyof typeof TASK_ACTS} TaskActName */

/** @type {readonly { value: 'applied' | 'not-applied' | 'compensated', label: string, effect: string }[]} */
export const RESOLUTIONS = [
  { value: 'applied', label: 'Applied', effect: 'The resource did it: what the write was to do is done.' },
  {
    value: 'not-applied',
    label: 'Not applied',
    effect: 'The resource did not do it, and will not any more.',
  },
  { value: 'compensated', label: 'Compensated', effect: 'It was done, and undone or made good since.' },
]

/**
 * @param {string} reason
 * @returns {string | undefined}
 */
export function reasonFault(reason) {
  if (reason.trim() === '') return 'Give a reason: it goes on record with your name.'
  if (reason.length > MAX_REASON)
    return `The reason has ${grouped(reason.length)} characters: ${MAX_REASON} at most.`
  return undefined
}

/**
 * @param {string} text
 * @param {bigint} least
 * @returns {string | undefined}
 */
export function tokenFault(text, least) {
  if (!/^[1-9]\d{0,18}$/.test(text) || BigInt(text) > MAX_TOKEN) {
    return `The token must be a whole number from 1 to ${MAX_TOKEN}, in digits only.`
  }
  return BigInt(text) < least ? `The mark is ${least} already: the token must not be lower.` : undefined
}

/** @param {TaskPage} task */
function passes({ passes, mark }) {
  return passes || mark
}

/** @param {TaskPage} task */
function stillOpen({ openWrites }) {
  if (openWrites === 0) return 'No write is open.'
  return `${counted(openWrites, 'write is', 'writes are')} open and may have reached the resource already: the answer says which are left.`
}

/**
 * @param {string} token
 * @param {TaskPage} task
 */
function farWarning(token, { mark }) {
  const far = BigInt(token) - BigInt(mark)
  if (far <= FAR) return []
  return [`That is ${grouped(String(far))} above the mark: until tokens get there, every holder is refused.`]
}
