/**
 * Loaded with `--import` into a process that holds or makes a store: kills it right before the nth step that leaves
 * something on the disk, as TEST_KILL_AT says (`any:7`, `linkSync:1`). Steps are counted in each thread for itself; at the
 * end the process says how many there were.
 */
import fs from 'node:fs'
import { DatabaseSync, StatementSync } from 'node:sqlite'

const [name, nth] = (process.env.TEST_KILL_AT ?? 'any:0').split(':')
let steps = 0

function watch<T extends object>(target: T, method: keyof T & string): void {
  const original = target[method] as (...args: unknown[]) => unknown
  const watched = function (this: unknown, ...args: unknown[]) {
    if ((name === 'any' || name === method) && ++steps === Number(nth)) process.kill(process.pid, 'SIGKILL')
    return original.apply(this, args)
  }
  target[method] = watched as T[keyof T & string]
}

for (const method of ['openSync', 'copyFileSync', 'fsyncSync', 'renameSync', 'linkSync', 'rmSync'] as const) {
  watch(fs, method)
}
watch(DatabaseSync.prototype, 'exec')
watch(DatabaseSync.prototype, 'close')
watch(StatementSync.prototype, 'run')

process.on('exit', () => {
  if (process.env.TEST_KILL_AT === 'any:0') process.send?.(steps)
})
