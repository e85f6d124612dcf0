/** Numbers and names as options spell them, each with the option's name in the message where it is none. */
import { ValueFault } from '../config/faults.ts'
import { EXIT, ExitError } from '../errors.ts'

/** Reads an option's value. Throws {@link ExitError} 64 for a {@link ValueFault}. */
export function named<T>(option: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ValueFault) throw new ExitError(EXIT.usage, `${option}: ${error.message}`)
    throw error
  }
}

/** How many of something. */
export function countOf(text: string | undefined, most: number): number {
  const count = /^[1-9]\d{0,8}$/.test(text ?? '') ? Number(text) : Infinity
  if (count <= most) return count
  throw new ValueFault(`"${text}" is not a number of them: write 1 to ${most}`)
}
