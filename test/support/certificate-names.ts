/**
 * Certificates with subject alternative names of any bytes, as a CA could be made to sign them. Nobody has signed
 * these: they are for whoever reads names, behind whoever verifies signatures.
 */
import { generateKeyPairSync, X509Certificate } from 'node:crypto'

/** By what OpenSSL calls each kind, its form in a GeneralName (RFC 5280, section 4.2.1.6). */
const FORMS = {
  email: (bytes: Buffer) => der(0x81, bytes),
  DNS: (bytes: Buffer) => der(0x82, bytes),
  URI: (bytes: Buffer) => der(0x86, bytes),
  'IP Address': (bytes: Buffer) => der(0x87, bytes),
  /** A directory name: its common name. */
  DirName: (bytes: Buffer) => der(0xa4, sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, bytes))))),
  /** One of those that are told apart by an object identifier: an e-mail address beyond ASCII, and a service's name. */
  SmtpUTF8Mailbox: (bytes: Buffer) => der(0xa0, SMTP_UTF8_MAILBOX, der(0xa0, der(0x0c, bytes))),
  SRVName: (bytes: Buffer) => der(0xa0, SRV_NAME, der(0xa0, der(0x16, bytes))),
} as const

const COMMON_NAME = Buffer.from('0603550403', 'hex')
const SMTP_UTF8_MAILBOX = Buffer.from('06082b06010505070809', 'hex')
const SRV_NAME = Buffer.from('06082b06010505070807', 'hex')

export type Kind = keyof typeof FORMS

export interface GeneralName {
  readonly kind: Kind
  readonly bytes: Buffer
}

/** One element of DER. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const size = content.length
  const length = size < 128 ? [size] : [0x82, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts)
const ECDSA_WITH_SHA256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'))
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')
const NOBODY = sequence()
const ALWAYS = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('490101000000Z')))
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const KEY = publicKey.export({ type: 'spki', format: 'der' })

export function certificateWith(names: readonly GeneralName[]): X509Certificate {
  const extension = sequence(...names.map(({ kind, bytes }) => FORMS[kind](bytes)))
  const version = der(0xa0, der(2, Buffer.from([2])))
  const serial = der(2, Buffer.from([1]))
  const extensions = der(0xa3, sequence(sequence(SUBJECT_ALT_NAME, der(4, extension))))
  const body = sequence(version, serial, ECDSA_WITH_SHA256, NOBODY, ALWAYS, NOBODY, KEY, extensions)
  return new X509Certificate(sequence(body, ECDSA_WITH_SHA256, der(3, Buffer.from([0]))))
}
