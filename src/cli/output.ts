/**
 * Standard output. Invariant: what could not be written is a failure, except where the reader wants no more, as `head`
 * does.
 */
import { EXIT, ExitError } from '../errors.ts'

/** Resolves, once the text is written, to whether the reader may want more. */
export function print(text: string): Promise<boolean> {
  if (text === '') return Promise.resolve(true)
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const failed = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return resolve(false)
    const message = `can't write to standard output (${error.code}): what is there is not all of it`
    reject(new ExitError(EXIT.unavailable, message, { cause: error }))
  }
  process.stdout.once('error', failed)
  process.stdout.write(text, (error) => {
    if (error) return // Told by the event too.
    process.stdout.off('error', failed)
    resolve(true)
  })
  return promise
}
