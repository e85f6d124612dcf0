/** The key that kept answers are encrypted with, from its file. Nothing of it is ever in a message. */

import type { Faults } from './faults.ts'
import { shown, ValueFault } from './faults.ts'
import type { ConfigFiles } from './files.ts'
import type { ConfigFile } from './schema.ts'
import { readSecret } from './secret-file.ts'

export function resolveOperationsKey(
  { keyFile }: ConfigFile['operations'],
  files: ConfigFiles,
  faults: Faults,
): Buffer | undefined {
  if (keyFile === undefined) return undefined
  return faults.read('operations.keyFile', undefined, () => parseKey(keyFile, files))
}

function parseKey(file: string, files: ConfigFiles): Buffer {
  const text = readSecret(file, 'the key', files)
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return Buffer.from(text, 'base64')
  throw new ValueFault(
    `${shown(file)} does not hold a key: write 32 random bytes into it, in base64 or hex, such as ` +
      '"openssl rand -base64 32" prints',
  )
}
