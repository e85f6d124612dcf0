/** Text from a file, decoded as it is read; and the fault in it that ends the command. */
import fs from 'node:fs'
import { EXIT, ExitError } from '../errors.ts'

/** A file that can't be read as what it should be. */
export class FileFault extends ExitError {
  /** @param line where it is; undefined: of the whole file. `message` names the fault and the remedy. */
  constructor(file: string, line: number | undefined, message: string, options?: ErrorOptions) {
    super(EXIT.usage, `${file}${line === undefined ? '' : `, line ${line}`}: ${message}`, options)
  }
}

/** Parts of the text, in order, without a byte order mark. Throws {@link FileFault} if it can't be read or isn't UTF-8. */
export async function* textOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let line = 1
  const decode = (bytes: Buffer | undefined) => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode()
    } catch (error) {
      const cause = { cause: error }
      throw new FileFault(file, undefined, `is not UTF-8, at or after line ${line}: convert it first`, cause)
    }
  }
  try {
    for await (const bytes of fs.createReadStream(file)) {
      const text = decode(bytes)
      yield text
      for (let i = text.indexOf('\n'); i !== -1; i = text.indexOf('\n', i + 1)) line++
    }
  } catch (error) {
    throw error instanceof ExitError ? error : unreadable(file, error)
  }
  yield decode(undefined)
}

/** Throws {@link FileFault} at once, where a long work before the reading would be in vain. */
export function expectReadable(file: string): void {
  try {
    fs.accessSync(file, fs.constants.R_OK)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): FileFault {
  const { code } = error as NodeJS.ErrnoException
  return new FileFault(file, undefined, `can't be read (${code}): name a file that is there`, {
    cause: error,
  })
}
