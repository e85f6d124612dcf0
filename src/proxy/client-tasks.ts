/**
 * Which tasks a client may write, by the names in its certificate (`clients`).
 *
 * Invariant: only a certificate that the TLS handshake has verified names anybody. A SPIFFE id must be the only
 * URI of its certificate (SPIFFE X.509-SVID, section 2): with several, nobody knows which one it is.
 */
import { isIPv6, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ClientRule } from '../config/config.ts'
import type { Refusal } from '../errors.ts'
import type { Claim } from '../token.ts'

/** One subject alternative name (RFC 5280, section 4.2.1.6), as OpenSSL labels its kind. */
interface Name {
  readonly kind: string
  readonly value: string
}

const NAMES = new WeakMap<Socket, readonly Name[]>()

export class ClientTasks {
  readonly #rules: readonly ClientRule[]

  constructor(rules: readonly ClientRule[]) {
    this.#rules = rules
  }

  /** Why the client at the other end may not write this task, or `undefined` if it may. */
  refusal(socket: Socket, claim: Claim): Refusal | undefined {
    if (this.#rules.length === 0) return undefined
    const names = namesOf(socket)
    const allowed = this.#rules.some(
      ({ san, tasks }) =>
        names.some((name) => isSame(name, san)) && tasks.some((prefix) => claim.task.startsWith(prefix)),
    )
    if (allowed) return undefined
    const cause =
      names.length === 0
        ? 'The client has shown no certificate with a name that could be looked up.'
        : 'No name in the client certificate is configured for this task.'
    return {
      code: 'task-not-allowed',
      task: claim.task,
      token: claim.token,
      detail: `${cause} Nothing was sent. Use the certificate of this task's workers, or name it under clients.`,
    }
  }
}

function namesOf(socket: Socket): readonly Name[] {
  let names = NAMES.get(socket)
  if (!names) {
    const verified = socket instanceof TLSSocket && socket.authorized
    names = verified ? parseNames(socket.getPeerX509Certificate()?.subjectAltName) : []
    NAMES.set(socket, names)
  }
  return names
}

/** `DNS:a, URI:spiffe://b`; a value with characters that could be taken for the syntax is a JSON string. */
const NAME = /([^:,\s][^:,]*):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/y

export function parseNames(text = ''): readonly Name[] {
  const names: Name[] = []
  NAME.lastIndex = 0
  while (NAME.lastIndex < text.length) {
    const [, kind = '', quotable = ''] = NAME.exec(text) ?? []
    const value = kind === '' ? undefined : unquoted(quotable)
    // What can't be read names nobody, and nor does anything beside it.
    if (value === undefined) return []
    names.push({ kind, value })
  }
  const uris = names.filter(({ kind }) => kind === 'URI')
  return uris.length > 1 ? names.filter(({ kind }) => kind !== 'URI') : names
}

function unquoted(text: string): string | undefined {
  if (!text.startsWith('"')) return text
  try {
    return JSON.parse(text) as string
  } catch {
    return undefined
  }
}

function isSame(name: Name, san: ClientRule['san']): boolean {
  return name.kind === san.kind && canonical(name) === san.value
}

/** The spelling that the configuration has; what means the same is the same. */
function canonical({ kind, value }: Name): string {
  switch (kind) {
    case 'DNS':
      return value.toLowerCase()
    case 'email':
      return value.replace(/@[^@]*$/, (domain) => domain.toLowerCase())
    case 'IP Address':
      return isIPv6(value) ? new URL(`http://[${value}]`).hostname.slice(1, -1) : value
    default:
      return value
  }
}
