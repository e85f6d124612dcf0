/**
 * Certificates and private keys in PEM files. What is returned can be used as it is: every certificate was read,
 * the key belongs to the first one, and TLS takes both. Nothing of a key is ever in a message.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import tls from 'node:tls'
import { type Faults, shown, ValueFault } from './faults.ts'
import type { ConfigFiles } from './files.ts'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g
const KEY = /-----BEGIN (?:[A-Z0-9]+ )?PRIVATE KEY-----/
const ENCRYPTED = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: *4, *ENCRYPTED/m

/** A certificate with its chain, and its private key; both PEM text. */
export interface Identity {
  readonly cert: string
  readonly key: string
}

/** The certificates in PEM text, in its order. */
export function certificatesOf(pem: string): X509Certificate[] {
  return (pem.match(CERTIFICATE) ?? []).map((text) => new X509Certificate(text))
}

/** What a person would know it by. The subject may be missing, as in many SPIFFE certificates, whatever the type says. */
export function nameOf({ subject, subjectAltName, serialNumber }: X509Certificate): string {
  const name = (subject as string | undefined) || subjectAltName || `number ${serialNumber}`
  return shown(name.replaceAll('\n', ', '))
}

/** PEM text in which every certificate can be read. */
export function readCertificates(file: string, files: ConfigFiles): string {
  const pem = files.read(file, 'a PEM file')
  let certificates: X509Certificate[]
  try {
    certificates = certificatesOf(pem)
  } catch (error) {
    throw new ValueFault(
      `${shown(file)} holds a damaged certificate (${(error as Error).message}); replace it`,
    )
  }
  if (certificates.length === 0) {
    throw new ValueFault(`${shown(file)} holds no certificate; name a PEM file that does`)
  }
  return pem
}

/** Reads `cert` and `key` of the section at `keyPath`, which go together. `undefined`: neither is there. */
export function readIdentity(
  { cert, key }: { readonly cert?: string; readonly key?: string },
  keyPath: string,
  files: ConfigFiles,
  faults: Faults,
): Identity | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined) {
    faults.add(
      `${keyPath}.cert`,
      `is missing: name the PEM file of the certificate that ${keyPath}.key is for`,
    )
  }
  if (key === undefined) {
    faults.add(`${keyPath}.key`, `is missing: name the PEM file of the private key of ${keyPath}.cert`)
  }
  const chain =
    cert === undefined ? '' : faults.read(`${keyPath}.cert`, '', () => readCertificates(cert, files))
  const secret =
    key === undefined ? undefined : faults.read(`${keyPath}.key`, undefined, () => readKey(key, files))
  if (chain === '' || key === undefined || secret === undefined) return undefined
  return faults.read(`${keyPath}.key`, undefined, () => {
    checkPair(chain, secret.key, `${shown(key)} does not belong to the first certificate in ${keyPath}.cert`)
    const identity = { cert: chain, key: secret.pem }
    checkUsable(identity)
    return identity
  })
}

function readKey(file: string, files: ConfigFiles): { pem: string; key: KeyObject } {
  const pem = files.read(file, 'a PEM file')
  if (ENCRYPTED.test(pem)) {
    throw new ValueFault(
      `${shown(file)} is encrypted, and nobody is there to be asked for the passphrase: decrypt it, such as with ` +
        '"openssl pkey -in KEY -out NEW", and guard the new file by its mode',
    )
  }
  if (!KEY.test(pem)) throw new ValueFault(`${shown(file)} holds no private key; name a PEM file that does`)
  try {
    return { pem, key: createPrivateKey(pem) }
  } catch {
    // What OpenSSL says of it is not passed on: nothing that comes from a key's file is shown.
    throw new ValueFault(`${shown(file)} holds a damaged private key; replace it`)
  }
}

function checkPair(chain: string, key: KeyObject, mismatch: string): void {
  const [leaf, ...others] = certificatesOf(chain)
  if (leaf?.checkPrivateKey(key)) return
  const remedy = others.some((other) => other.checkPrivateKey(key))
    ? 'but to a later one: put that one first, then those that lead to its CA'
    : "name the certificate's own key"
  throw new ValueFault(`${mismatch}, ${remedy}`)
}

/** What only TLS itself knows, such as that a key is too short. */
function checkUsable(identity: Identity): void {
  try {
    tls.createSecureContext({ ...identity })
  } catch (error) {
    throw new ValueFault(
      `can't be used for TLS: ${(error as Error).message}; issue a new certificate and key`,
    )
  }
}
