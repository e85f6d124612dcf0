/**
 * Reading the names of a client certificate as Node writes them, from real certificates: whatever bytes a CA was
 * made to sign for one name, they are never read as another (CVE-2021-44532 and its kind).
 */
import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClientRule } from '../../src/config/config.ts'
import { ClientTasks, parseNames } from '../../src/proxy/client-tasks.ts'
import { certificateWith, type GeneralName, type Kind } from '../support/certificate-names.ts'

const TARGET = 'spiffe://prod.example/ns/pay/sa/settler'
const name = (kind: Kind, text: string): GeneralName => ({ kind, bytes: Buffer.from(text, 'latin1') })
const namesIn = (...names: readonly GeneralName[]) => parseNames(certificateWith(names).subjectAltName)

/** A socket that a handshake has verified, or not. */
function socketWith(certificate: X509Certificate, authorized = true): Socket {
  const getPeerX509Certificate = () => certificate
  return Object.assign(Object.create(TLSSocket.prototype), { authorized, getPeerX509Certificate })
}

const RULES: readonly ClientRule[] = [
  { san: { kind: 'URI', value: TARGET }, tasks: ['uri-'] },
  { san: { kind: 'DNS', value: 'settler.example' }, tasks: ['dns-', 'other'] },
  { san: { kind: 'email', value: 'Settler@pay.example' }, tasks: [''] },
  { san: { kind: 'IP Address', value: '2001:db8::1' }, tasks: ['ip-'] },
  { san: { kind: 'DNS', value: '*.wild.example' }, tasks: ['wild-'] },
]
const clients = new ClientTasks(RULES)
const mayWrite = (task: string, socket: Socket) => clients.refusal(socket, { task, token: 1n }) === undefined
const mayWriteWith = (task: string, ...names: readonly GeneralName[]) =>
  mayWrite(task, socketWith(certificateWith(names)))

/** Pieces that mean something in the text that Node makes of names, and any byte. */
const piece = fc.oneof(
  fc.constantFrom(
    ',',
    ', ',
    '"',
    "'",
    '\\',
    '\\u002c',
    '\0',
    '\n',
    ':',
    'URI:',
    'DNS:',
    TARGET,
    'a',
    ' ',
    '%2c',
  ),
  fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
)
const hostile = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
const textual = fc.record({ kind: fc.constantFrom<Kind>('DNS', 'email', 'URI'), text: hostile })

test('each name is read as it was signed, and none of them as two', () => {
  fc.assert(
    fc.property(fc.array(textual, { minLength: 1, maxLength: 4 }), (names) => {
      const uris = names.filter(({ kind }) => kind === 'URI').length
      const expected = names.filter(({ kind }) => uris < 2 || kind !== 'URI')
      expect(namesIn(...names.map(({ kind, text }) => name(kind, text)))).toEqual(
        expected.map(({ kind, text: value }) => ({ kind, value })),
      )
    }),
    { numRuns: 2000 },
  )
})

test('no bytes in a name of another kind make it the name that a rule has', () => {
  const others = fc.constantFrom<Kind>('DirName', 'SRVName', 'SmtpUTF8Mailbox', 'DNS', 'email', 'IP Address')
  fc.assert(
    fc.property(
      fc.array(fc.record({ kind: others, text: hostile }), { minLength: 1, maxLength: 3 }),
      (names) => {
        const certificate = certificateWith(names.map(({ kind, text }) => name(kind, text)))
        expect(mayWrite('uri-1', socketWith(certificate))).toBe(false)
      },
    ),
    { numRuns: 2000 },
  )
})

test('text that Node would not write names nobody, and breaks nothing', () => {
  for (const text of ['DNS:"a', 'DNS:"\\q"', 'DNS:"a"b', 'DNS:a,URI:b', 'a', ', DNS:a', '"', 'DNS:"a", x']) {
    expect(parseNames(text)).toEqual([])
  }
  expect([parseNames(undefined), parseNames('')]).toEqual([[], []])
  fc.assert(
    fc.property(hostile, (text) => {
      parseNames(text)
    }),
  )
})

test.each<[task: string, kind: Kind, text: string, may: boolean]>([
  ['uri-1', 'URI', TARGET, true],
  ['uri-1', 'URI', `${TARGET}/x`, false],
  ['uri-1', 'URI', TARGET.toUpperCase(), false],
  ['uri-1', 'DNS', TARGET, false],
  ['uri-1', 'email', TARGET, false],
  ['dns-1', 'DNS', 'Settler.EXAMPLE', true],
  ['dns-1', 'DNS', 'settler.example.', false],
  ['dns-1', 'DNS', 'settler.example\0.evil.example', false],
  ['dns-1', 'DNS', '*.example', false],
  ['dns-1', 'email', 'settler.example', false],
  ['wild-1', 'DNS', '*.wild.example', true],
  ['wild-1', 'DNS', 'a.wild.example', false],
  ['any', 'email', 'Settler@PAY.example', true],
  ['any', 'email', 'settler@pay.example', false],
  ['any', 'email', 'Settler@pay.example@evil.example', false],
  ['ip-1', 'DNS', '2001:db8::1', false],
])('%s by %s %j: %s', (task, kind, text, may) => {
  expect(mayWriteWith(task, name(kind, text))).toBe(may)
})

test('an address is compared as such', () => {
  const address = (hex: string): GeneralName => ({ kind: 'IP Address', bytes: Buffer.from(hex, 'hex') })
  expect(mayWriteWith('ip-1', address('20010db8000000000000000000000001'))).toBe(true)
  expect(mayWriteWith('ip-1', address('20010db8000000000000000000000002'))).toBe(false)
  expect(mayWriteWith('ip-1', address('7f000001'))).toBe(false)
})

test('prefixes are of the whole name of the task, in its own case', () => {
  const dns = name('DNS', 'settler.example')
  for (const task of ['dns-', 'dns-1', 'other', 'others']) expect(mayWriteWith(task, dns)).toBe(true)
  for (const task of ['dns', 'DNS-1', 'x-dns-1', 'othe', 'uri-1']) expect(mayWriteWith(task, dns)).toBe(false)
})

test('of two URIs neither counts, but what stands beside them does', () => {
  const uris = [name('URI', TARGET), name('URI', 'https://example')]
  expect(mayWriteWith('uri-1', ...uris)).toBe(false)
  expect(mayWriteWith('uri-1', name('URI', TARGET), name('URI', TARGET))).toBe(false)
  expect(mayWriteWith('dns-1', ...uris, name('DNS', 'settler.example'))).toBe(true)
})

test('who has shown nothing, or nothing that was verified, is nobody', () => {
  const certificate = certificateWith([name('email', 'Settler@pay.example')])
  expect(mayWrite('any', socketWith(certificate))).toBe(true)
  expect(mayWrite('any', socketWith(certificate, false))).toBe(false)
  expect(mayWrite('any', socketWith(certificateWith([])))).toBe(false)
  // A plain connection, whatever it may have become.
  const plain = { authorized: true, getPeerX509Certificate: () => certificate } as unknown as Socket
  expect(mayWrite('any', plain)).toBe(false)
  expect(new ClientTasks([]).refusal(plain, { task: 'any', token: 1n })).toBeUndefined()
})

test('the refusal says what to do, and nothing of what is on record', () => {
  const socket = socketWith(certificateWith([name('DNS', 'settler.example')]))
  const refusal = clients.refusal(socket, { task: 'x', token: 7n })
  expect(refusal).toEqual({
    code: 'task-not-allowed',
    task: 'x',
    token: 7n,
    detail: expect.stringContaining('clients'),
  })
})
