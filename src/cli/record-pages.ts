/** The sidecar's lists, read a page at a time; the next page is asked for while the one before is used. */
import { askAt } from './ask.ts'
import type { Endpoint } from './endpoint.ts'

/** Small enough that no write notices one. */
const PAGE = 500

/** `next` is a number, but the name of a task in the list of tasks. */
export type RecordList = 'operations' | 'attempts' | 'journal' | 'tasks'

/** Filters that are undefined are left out. */
export async function* recordPages<T>(
  endpoint: Endpoint,
  list: RecordList,
  filters: Readonly<Record<string, string | undefined>>,
): AsyncGenerator<readonly T[]> {
  const query = new URLSearchParams({ limit: String(PAGE) })
  for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(name, value)
  const ask = (after: number | string | undefined) => {
    if (after !== undefined) query.set('after', String(after))
    const page = askAt<Page<T>>(endpoint, `/v1/${list}?${query}`)
    page.catch(() => {}) // Whoever awaits it below sees it; nobody does where the reader wants no more.
    return page
  }
  let asked: Promise<Page<T>> | undefined = ask(list === 'tasks' ? undefined : 0)
  while (asked) {
    const page: Page<T> = await asked
    asked = page.next === undefined ? undefined : ask(page.next)
    yield page[list] ?? []
  }
}

type Page<T> = { readonly next?: number | string } & { readonly [list in RecordList]?: readonly T[] }
