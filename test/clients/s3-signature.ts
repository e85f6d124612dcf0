/**
 * Recomputes AWS Signature Version 4 from a request as it arrived, the way S3 does: what was signed is what is
 * on the wire, or the request is refused. Written from the published algorithm, not with the SDK's signer, which
 * would repeat its own mistakes.
 *
 * Covered: the canonical request (S3's rule: the path is encoded once and not normalised), every signed header,
 * and that `host` and all of `x-amz-*` are signed. Not covered: presigned URLs, session tokens, SigV4a, and
 * signatures of single chunks.
 */
import { createHash, createHmac } from 'node:crypto'
import type { HeaderPair } from '../support/wire.ts'

export const CREDENTIALS = { accessKeyId: 'AKIDFENCE', secretAccessKey: 'a secret of tests' }
export const REGION = 'eu-test-1'

export interface SignedRequest {
  readonly method: string
  /** As on the request line. */
  readonly target: string
  readonly headers: readonly HeaderPair[]
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/,]+)\/(\d{8}\/[^/,]+\/s3\/aws4_request), SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/

/** Why S3 would refuse the request's signature; `undefined` if it is right. */
export function signatureFault(request: SignedRequest): string | undefined {
  const authorization = valuesOf(request, 'authorization')
  const [, accessKey, scope = '', names = '', signature] = AUTHORIZATION.exec(authorization.join()) ?? []
  if (signature === undefined) return `not a signature: ${authorization.join()}`
  if (accessKey !== CREDENTIALS.accessKeyId) return `an unknown access key: ${accessKey}`
  const signed = names.split(';')
  const unsigned = request.headers
    .map(([name]) => name.toLowerCase())
    .filter((name) => (name === 'host' || name.startsWith('x-amz-')) && !signed.includes(name))
  if (unsigned.length > 0 || !signed.includes('host')) return `not signed: ${unsigned.join() || 'host'}`
  const [date = ''] = valuesOf(request, 'x-amz-date')
  if (!date.startsWith(scope.slice(0, 8))) return `the scope is of another day than ${date}`
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonicalRequest(request, signed))].join('\n')
  const key = scope
    .split('/')
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${CREDENTIALS.secretAccessKey}`)
  return hmac(key, toSign).toString('hex') === signature ? undefined : 'the signature does not match'
}

function canonicalRequest(request: SignedRequest, signed: readonly string[]): string {
  const { method, target } = request
  const [, path = '', query = ''] = /^([^?]*)\??(.*)$/.exec(target) ?? []
  return [
    method,
    encoded(decodeURIComponent(path), '/'),
    query.split('&').filter(Boolean).map(canonicalParameter).sort().join('&'),
    ...signed.map((name) => `${name}:${valuesOf(request, name).map(trimmed).join()}`),
    '',
    signed.join(';'),
    valuesOf(request, 'x-amz-content-sha256').join(),
  ].join('\n')
}

function canonicalParameter(parameter: string): string {
  const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(parameter) ?? []
  return `${encoded(decodeURIComponent(name))}=${encoded(decodeURIComponent(value))}`
}

/** Percent-encoded as AWS does it: all but RFC 3986's unreserved characters. */
function encoded(text: string, also = ''): string {
  return Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte)
    if (/[A-Za-z0-9._~-]/.test(character) || character === also) return character
    return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}

const trimmed = (value: string) => value.trim().replace(/ +/g, ' ')

export function valuesOf({ headers }: Pick<SignedRequest, 'headers'>, name: string): string[] {
  return headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
