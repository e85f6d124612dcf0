/**
 * What of a new configuration can take the place of the one in force. The rest is built into parts that live as
 * long as the process: ports that are bound, the store, the gate.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Config } from './config.ts'

/** `each-key`: a section, whose keys are named one by one. A key that is new must say what it is. */
const CHANGE: Readonly<Record<keyof Config, 'reload' | 'restart' | 'restart-each-key' | 'tls' | 'admin'>> = {
  listen: 'restart',
  admin: 'admin',
  tls: 'tls',
  clients: 'reload',
  upstream: 'reload',
  store: 'restart-each-key',
  claim: 'restart-each-key',
  handoverTimeoutMs: 'restart',
  drainLimitMs: 'restart',
  restartGraceMs: 'restart',
  revealHighest: 'reload',
  limits: 'restart-each-key',
  shutdown: 'restart-each-key',
  operations: 'restart-each-key',
  journal: 'restart-each-key',
  records: 'reload',
  log: 'restart-each-key',
  reloadIntervalMs: 'restart',
  routes: 'reload',
}

/** The key paths, as the file has them, that differ and that only a restart can change. None: reload. */
export function reloaded(current: Config, next: Config): readonly string[] {
  return (Object.keys(CHANGE) as (keyof Config)[]).flatMap((key) => restartNeeded(key, current, next))
}

function restartNeeded(key: keyof Config, current: Config, next: Config): string[] {
  switch (CHANGE[key]) {
    case 'reload':
      return []
    case 'tls':
      return tlsChanges(current.tls, next.tls)
    case 'admin':
      // Tokens come and go; the port is bound.
      return isDeepStrictEqual(current.admin.listen, next.admin.listen) ? [] : ['admin.listen']
    case 'restart':
      return isDeepStrictEqual(current[key], next[key]) ? [] : [inFile(key)]
    case 'restart-each-key':
      return sectionChanges(key, current[key] as Section, next[key] as Section)
  }
}

type Section = Readonly<Record<string, unknown>>

function sectionChanges(name: string, current: Section, next: Section): string[] {
  return (
    Object.keys(current)
      // The control socket follows store.path.
      .filter((key) => key !== 'controlSocket' && !isDeepStrictEqual(current[key], next[key]))
      .map((key) => `${name}.${inFile(key)}`)
  )
}

/** A server takes new certificates; whether it speaks TLS, and what it asks of clients, is fixed when it is made. */
function tlsChanges(current: Config['tls'], next: Config['tls']): string[] {
  if (current === undefined || next === undefined) return current === next ? [] : ['tls.cert']
  if ((current.clientCa === undefined) !== (next.clientCa === undefined)) return ['tls.clientCa']
  const asked = current.clientCa !== undefined
  return asked && current.clientCertificate !== next.clientCertificate ? ['tls.clientCertificate'] : []
}

/** In the file the unit is in the value, and of a key there is but the name of its file. */
function inFile(key: string): string {
  if (key === 'key') return 'keyFile'
  return key.replace(/(BytesPerSecond|Bytes|Ms)$/, '')
}
