/**
 * Gives the memory of bodies that pass through back in time.
 *
 * Node copies each piece of a body into a buffer of its own. V8 frees those that nobody uses when its new objects need
 * room, or when buffers have come to some 64 MiB. A large body brings few objects with its buffers, so that it would
 * always be the 64 MiB, and a collection of the whole heap. Collecting the new objects alone, a little earlier, costs
 * less.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const EVERY_BYTES = 16 * 1024 * 1024

let passedBytes = 0
let collect: ((options: { readonly type: 'minor' }) => void) | undefined

/** So many bytes of a body came, and will be written on. */
export function bodyPassed(bytes: number): void {
  passedBytes += bytes
  if (passedBytes < EVERY_BYTES) return
  passedBytes = 0
  collect ??= collector()
  collect({ type: 'minor' })
}

/** V8 shows it to contexts that are made after the flag was set. */
function collector(): (options: { readonly type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}
