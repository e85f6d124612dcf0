/**
 * Loaded with `--import` into a process that holds a store: before each commit, SQLite is told how many
 * pages the file named by TEST_PAGE_LIMIT_FILE allows. Beyond them it answers as on a full disk.
 */
import fs from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const file = process.env.TEST_PAGE_LIMIT_FILE as string
const exec = DatabaseSync.prototype.exec

DatabaseSync.prototype.exec = function (sql: string): void {
  if (sql === 'BEGIN IMMEDIATE') exec.call(this, `PRAGMA max_page_count = ${fs.readFileSync(file, 'utf8')}`)
  exec.call(this, sql)
}
