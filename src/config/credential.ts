/** The resource's credential, from its file. Neither it nor a part of it is ever in a message. */
import { shown, ValueFault } from './faults.ts'
import type { ConfigFiles } from './files.ts'
import { isHeaderValue } from './header-fields.ts'
import { readSecret } from './secret-file.ts'

const MAX_BYTES = 8192

/** The one line of the file: a whole field value. */
export function readCredential(file: string, files: ConfigFiles): string {
  const value = readSecret(file, 'the credential', files)
  const fault = faultOf(value)
  if (fault !== undefined) throw new ValueFault(`${shown(file)} ${fault}`)
  return value
}

function faultOf(value: string): string | undefined {
  if (value === '') return 'is empty: write the value of the field into it, such as Bearer and a token'
  if (/[\r\n]/.test(value)) return 'has more than one line: write the value of the field on one'
  if (!isHeaderValue(value)) {
    return "holds what no header's value can: write visible ASCII, without space at either end"
  }
  if (value.length > MAX_BYTES) return `is longer than ${MAX_BYTES} bytes: write a shorter value`
  return undefined
}
