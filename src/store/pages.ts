/** Pages of records: bounded by what is looked at, so that a query that wants little keeps nobody waiting. */
import type { Page } from '../journal/queries.ts'

const MAX_PAGE = 1000
/** Rows that a page looks at, at most, where SQLite picks those that are wanted: few pages are empty then. */
export const LOOKED_AT = 10_000

export function pageSize(limit: number): number {
  return Math.max(1, Math.min(Math.floor(limit), MAX_PAGE))
}

/** @param looked all rows that the page looked at, in order: fewer than `size` if they were the last ones. */
export function pageOf<T extends { readonly seq: number }>(
  looked: readonly T[],
  size: number,
  isWanted: (row: T) => boolean,
): Page<T> {
  return { rows: looked.filter(isWanted), next: looked.length < size ? undefined : looked.at(-1)?.seq }
}
