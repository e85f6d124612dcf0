/** Where the running sidecar listens for operators: a Unix socket in the data directory. */
import path from 'node:path'
import { ValueFault } from './faults.ts'

const FILE = 'control.sock'

/** What the address of a Unix socket holds: 107 bytes and a zero on Linux, 103 on macOS and the BSDs. */
const MAX_BYTES = process.platform === 'linux' ? 107 : 103

/** Throws {@link ValueFault} if the path would be longer than the address of a socket can be. */
export function controlSocketIn(directory: string): string {
  const socket = path.join(directory, FILE)
  const excess = Buffer.byteLength(socket) - MAX_BYTES
  if (excess <= 0) return socket
  throw new ValueFault(
    `${directory} is too long a path by ${excess} ${excess === 1 ? 'byte' : 'bytes'}: ${FILE} in it, by which operators reach the sidecar, ` +
      `may have ${MAX_BYTES} with its directory. Name a shorter one`,
  )
}
