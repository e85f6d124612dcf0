/** Acts as they are sent, and their answers in words. */
import { RESOLUTIONS, TASK_ACTS } from './acts.js'
import { el } from './dom.js'
import { counted, duration } from './format.js'
import { reasonText } from './lists-panel.js'
import { openWritesTable } from './write-table.js'

/** @import { Act, Outcome, Step } from './act-dialog.js' */
/** @import { TaskActName, Values } from './acts.js' */
/** @import { Api } from './api.js' */
/** @import { ActAnswer, Entry, ResetCheck, TaskPage, Unknown } from './types.js' */

/** Acts of one task that are looked through for the one just done. */
const LOOKED_THROUGH = 10

/**
 * @param {Api} api
 * @param {TaskActName} name
 * @param {TaskPage} task as it was when the act was chosen
 * @returns {Act}
 */
export function actOnTask(api, name, task) {
  const { verb, summary, dangerous = false, field, check, effects } = TASK_ACTS[name]
  const target = `/v1/tasks/${encodeURIComponent(task.task)}/${name}`
  return {
    title: verb,
    about: task.task,
    summary,
    form: { field: field?.(task), check: (values) => check(values, task) },
    step: (values) => ({
      verb: name === 'reset' ? 'Check' : verb,
      effects: effects(values, task),
      dangerous: dangerous && name !== 'reset',
      send: async () => {
        const body = given(values)
        if (name === 'reset') return resetChecked(api, target, body, await api.act(target, body))
        /** @type {ActAnswer} */
        const answer = await api.act(target, body)
        return { said: await answered(api, name, answer, values) }
      },
    }),
  }
}

/**
 * @param {Api} api
 * @param {string} target
 * @param {Record<string, string>} body
 * @param {ResetCheck} check
 * @returns {Outcome}
 */
function resetChecked(api, target, body, { task, mark, to, confirm, expiresInMs, warning }) {
  /** @type {Step} */
  const next = {
    verb: `Reset the mark to ${to}`,
    dangerous: true,
    effects: [
      `The mark of ${task} goes down from ${mark} to ${to}: whoever holds a token from ${to} to ${mark} can write again, and the order of writes is no longer promised.`,
      `It stays frozen until you thaw it. This confirmation is good for ${duration(expiresInMs)}, and only while the mark is ${mark}.`,
    ],
    send: async () => {
      /** @type {ActAnswer} */
      const answer = await api.act(target, { ...body, confirm })
      return { said: await answered(api, 'reset', answer, body) }
    },
  }
  return { said: [el('p', { class: 'note' }, warning)], next }
}

/**
 * @param {Api} api
 * @param {Unknown} write
 * @returns {Act}
 */
export function resolution(api, write) {
  const { id, task, token, method, target, reason, holds } = write
  return {
    title: 'Resolve a write of',
    about: task,
    summary: `${method} ${target}, token ${token}: ${reasonText(reason)}. Ask the resource what became of it.`,
    form: {
      choices: RESOLUTIONS,
      check: ({ resolution }) => (resolution ? undefined : 'Say what became of the write.'),
    },
    step: (values) => ({
      verb: 'Resolve',
      effects: [
        `The write is on record as ${values.resolution}, for good: another finding later is refused.`,
        ...(holds ? ['It no longer keeps the next holder out.'] : []),
      ],
      send: async () => {
        /** @type {Unknown} */
        const resolved = await api.act(`/v1/unknown/${encodeURIComponent(id)}/resolve`, given(values))
        const by = resolved.resolvedBy === undefined ? '' : ` by ${resolved.resolvedBy}`
        return { said: [el('p', {}, `Done. On record as ${resolved.resolution}${by}.`)] }
      },
    }),
  }
}

/**
 * What was given: an empty optional field is left out.
 *
 * @param {Values} values
 */
function given(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
}

/**
 * @param {Api} api
 * @param {TaskActName} name
 * @param {ActAnswer} answer
 * @param {Values} values
 */
async function answered(api, name, { task, mark, frozen, passes, open }, values) {
  const state = frozen
    ? `frozen; once thawed, token ${passes} or above passes`
    : `token ${passes} or above passes`
  const said = [
    el('p', {}, 'Done: ', el('span', { class: 'task' }, task), ` has mark ${mark}, ${state}.`),
    open.length === 0
      ? el('p', {}, 'No write is open.')
      : el(
          'p',
          { class: 'note' },
          `${counted(open.length, 'write is', 'writes are')} still open, and may reach the resource, or have reached it:`,
        ),
  ]
  if (open.length > 0) said.push(el('div', { class: 'scroll short' }, openWritesTable(open)))
  said.push(el('p', { class: 'hint' }, await onRecord(api, name, task, values.reason ?? '')))
  return said
}

/**
 * Who did it, as the sidecar recorded it: the page doesn't know whose token it has.
 *
 * @param {Api} api
 * @param {TaskActName} name
 * @param {string} task
 * @param {string} reason
 */
async function onRecord(api, name, task, reason) {
  const query = new URLSearchParams({ task, kind: 'act', order: 'newest', limit: String(LOOKED_THROUGH) })
  try {
    /** @type {{ journal: Entry[] }} */
    const { journal } = await api.get(`/v1/journal?${query}`)
    const entry = journal.find(({ data }) => data.act === name && data.reason === reason)
    return entry ? `On record as ${name} by ${entry.data.by}.` : 'It was so already, and is on record.'
  } catch {
    return 'It is on record; the record could not be read just now.'
  }
}
