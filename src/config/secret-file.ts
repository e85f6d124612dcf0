/** Reads a file that holds a secret. Neither it nor a part of it is ever in a message. */
import { ValueFault } from './faults.ts'
import type { ConfigFiles } from './files.ts'

/** The text of the file, less the newline with which editors end a line. `what` is what the file holds. */
export function readSecret(file: string, what: string, files: ConfigFiles): string {
  try {
    return files.read(file, 'a file').replace(/\r?\n$/, '')
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error
    // Whoever writes the secret itself where the name of its file belongs must not find it in a log.
    const code = (error.cause as NodeJS.ErrnoException | undefined)?.code ?? 'not a path'
    throw new ValueFault(
      `cannot be read (${code}): name a file that this user may read; ${what} stands in it, not here`,
    )
  }
}
