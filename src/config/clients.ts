/** Reads `clients`: which tasks a client certificate may write. */
import net from 'node:net'
import { HOST_NAME } from './addresses.ts'
import type { ClientRule, SubjectAltName } from './config.ts'
import { type Faults, shown, ValueFault } from './faults.ts'
import type { ClientFile, ConfigFile } from './schema.ts'

/** An entry that the schema refused is a hole. */
export function resolveClients(tree: ConfigFile, faults: Faults): ClientRule[] {
  const { clients, tls } = tree
  if (clients.length > 0 && tls.clientCa === undefined && !faults.within('tls.clientCa')) {
    faults.add(
      'clients',
      'needs tls.clientCa, without which no client is asked for a certificate: set it, or remove the list',
    )
  }
  const seen = new Map<string, string>()
  const rules: ClientRule[] = []
  clients.forEach((file, index) => {
    const keyPath = `clients[${index}]`
    const san = resolveSan(file.san, `${keyPath}.san`, seen, faults)
    rules.push({ san, tasks: resolveTasks(file.tasks, `${keyPath}.tasks`, faults) })
  })
  return rules
}

function resolveSan(
  text: ClientFile['san'],
  keyPath: string,
  seen: Map<string, string>,
  faults: Faults,
): SubjectAltName {
  const none: SubjectAltName = { kind: 'URI', value: keyPath }
  if (text === undefined) {
    faults.add(keyPath, 'is missing: name a URI, DNS name, e-mail address or IP address of the certificate')
    return none
  }
  const san = faults.read(keyPath, none, () => parseSan(text))
  const name = `${san.kind}:${san.value}`
  const earlier = seen.get(name)
  if (earlier !== undefined) {
    faults.add(keyPath, `${shown(text)} is ${earlier} again: write all its tasks in one entry`)
  }
  seen.set(name, keyPath)
  return san
}

function resolveTasks(tasks: ClientFile['tasks'], keyPath: string, faults: Faults): string[] {
  if (tasks === undefined) {
    faults.add(
      keyPath,
      'is missing: list the prefixes of the tasks that this client may write; "" is every task',
    )
  }
  const prefixes: string[] = []
  tasks?.forEach((prefix, index) => {
    prefixes.push(faults.read(`${keyPath}[${index}]`, '', () => parsePrefix(prefix)))
  })
  return prefixes
}

function parsePrefix(text: string): string {
  if (/^[\x21-\x7e]{0,256}$/.test(text)) return text
  throw new ValueFault(
    `${shown(text)} begins no task's name: write up to 256 visible ASCII characters, or "" for every task`,
  )
}

/** What kind of name a text is follows from its form: no two kinds have one in common. */
function parseSan(text: string): SubjectAltName {
  const prefix = /^(URI|DNS|email|IP|IP Address):/i.exec(text)?.[0]
  if (prefix !== undefined) {
    throw new ValueFault(
      `${shown(text)} begins with ${shown(prefix)}, which is not part of the name: write what is behind it alone`,
    )
  }
  // A zone belongs to one host, and stands in no certificate.
  if (net.isIP(text) !== 0 && !text.includes('%')) return { kind: 'IP Address', value: canonicalIp(text) }
  if (/^([a-z][a-z0-9+.-]*:\/\/|urn:)[\x21-\x7e]+$/i.test(text)) return { kind: 'URI', value: text }
  const [, local, domain = ''] = /^([\x21-\x3f\x41-\x7e]+)@(.+)$/.exec(text) ?? []
  if (local !== undefined && HOST_NAME.test(domain)) {
    return { kind: 'email', value: `${local}@${domain.toLowerCase()}` }
  }
  if (HOST_NAME.test(text.replace(/^\*\./, ''))) return { kind: 'DNS', value: text.toLowerCase() }
  throw new ValueFault(
    `${shown(text)} is no subject alternative name: write a URI such as spiffe://prod.example/ns/pay/sa/settler, ` +
      'a DNS name, an e-mail address or an IP address',
  )
}

function canonicalIp(text: string): string {
  return net.isIPv4(text) ? text : new URL(`http://[${text}]`).hostname.slice(1, -1)
}
