/** The certificates of `tls/`, as settings of the sidecar and as options of clients and of the resource. */
import fs from 'node:fs'
import path from 'node:path'
import type { ConnectionOptions } from 'node:tls'

const DIRECTORY = path.join(import.meta.dirname, 'tls')

/** The path of a PEM file. */
export function pemFile(name: string): string {
  return path.join(DIRECTORY, `${name}.pem`)
}

export function pem(name: string): string {
  return fs.readFileSync(pemFile(name), 'utf8')
}

/** The names of the files of a certificate and its key, as `tls` and `upstream.tls` have them. */
export function identityFiles(name: string): { cert: string; key: string } {
  return { cert: pemFile(name), key: pemFile(`${name}-key`) }
}

/** The same, as text. */
export function identity(name: string): { cert: string; key: string } {
  return { cert: pem(name), key: pem(`${name}-key`) }
}

/** What a client of the data port says of itself, and whom it trusts; by default nobody, and `server-ca`. */
export function client(name?: string): ConnectionOptions {
  return { ca: pem('server-ca'), servername: 'localhost', ...(name !== undefined && identity(name)) }
}
