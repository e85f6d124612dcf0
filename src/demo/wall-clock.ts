/**
 * A worker's wall clock: the machine's, moved by an offset that the demo keeps in a file.
 *
 * This is how the demo sets A's clock back without being root: the machine's own clock is never touched. The
 * file is read at every reading and not sent as a message, because a message would be seen some time after
 * the process goes on, while a clock that was set is set before its first instruction.
 */
import { readFileSync, writeFileSync } from 'node:fs'

/** Milliseconds since the epoch, as the worker's machine tells them. */
export type WallClock = () => number

export function wallClock(offsetFile: string): WallClock {
  return () => Date.now() + Number(readFileSync(offsetFile, 'utf8'))
}

/** Positive is forward. */
export function setWallClock(offsetFile: string, offsetMs: number): void {
  writeFileSync(offsetFile, String(offsetMs))
}
