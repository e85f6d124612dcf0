/** Lists that come in pages, any of which may hold fewer rows than were asked for, even none. */

/** @import { Api } from './api.js' */
/** @import { Task } from './types.js' */

/** @typedef {{ tasks: Task[], next: string | undefined }} TaskList */

/** Looked through at one go, where a search finds next to nothing. */
const MOST_PAGES = 20

/**
 * @param {Api} api
 * @param {{ search?: string, state?: string, limit: number, after?: string | undefined }} query
 * @returns {Promise<TaskList>} `limit` tasks at least if there are so many, unless the search for them is long
 */
export async function tasks(api, { search = '', state = '', limit, after }) {
  /** @type {TaskList} */
  const found = { tasks: [], next: after }
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const query = new URLSearchParams({ limit: String(limit - found.tasks.length) })
    if (search !== '') query.set('search', search)
    if (state !== '') query.set('state', state)
    if (found.next !== undefined) query.set('after', found.next)
    /** @type {{ tasks: Task[], next?: string }} */
    const page = await api.get(`/v1/tasks?${query}`)
    found.tasks.push(...page.tasks)
    found.next = page.next
    if (found.next === undefined || found.tasks.length >= limit) break
  }
  return found
}
