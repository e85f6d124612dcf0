/** What Linux says of another process. Tests that ask run on Linux alone. */
import fs from 'node:fs'

export const LINUX = process.platform === 'linux'

/** Open files, sockets and the like. */
export function descriptors(pid: number): number {
  return fs.readdirSync(`/proc/${pid}/fd`).length
}

/** Memory that the process has in use. */
export function residentBytes(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}
