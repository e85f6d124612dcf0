/**
 * A request's payload as S3 reads it. `x-amz-content-sha256` says how it is protected: by its hash, by nothing
 * (`UNSIGNED-PAYLOAD`), or by a checksum in a trailer of the aws-chunked coding, which lies within the body and is
 * no transfer coding (`STREAMING-UNSIGNED-PAYLOAD-TRAILER`). A checksum that is sent is always compared.
 */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type SignedRequest, valuesOf } from './s3-signature.ts'

/** The payload was not what the request says. */
export class PayloadError extends Error {
  override readonly name = 'PayloadError'
}

export function payloadOf(request: Pick<SignedRequest, 'headers'>, body: Buffer): Buffer {
  const [protection = ''] = valuesOf(request, 'x-amz-content-sha256')
  const [checksum] = valuesOf(request, 'x-amz-checksum-crc32')
  if (protection === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER') return chunkedPayload(request, body)
  if (protection !== 'UNSIGNED-PAYLOAD') {
    check('SHA-256', createHash('sha256').update(body).digest('hex'), protection)
  }
  if (checksum !== undefined) check('CRC32', crc32Of(body), checksum)
  return body
}

function chunkedPayload(request: Pick<SignedRequest, 'headers'>, body: Buffer): Buffer {
  const codings = valuesOf(request, 'content-encoding').join().split(',')
  if (!codings.includes('aws-chunked')) throw new PayloadError(`the content coding is ${codings.join()}`)
  const { payload, trailer } = decode(body)
  check('decoded length', String(payload.length), valuesOf(request, 'x-amz-decoded-content-length').join())
  const [name, value] = trailer.split(':')
  check('trailer', name, valuesOf(request, 'x-amz-trailer').join())
  check('CRC32', crc32Of(payload), value)
  return payload
}

/** The aws-chunked coding: sizes in hexadecimal, then one trailer. */
function decode(body: Buffer): { payload: Buffer; trailer: string } {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16)
    if (lineEnd < 0 || Number.isNaN(size)) throw new PayloadError(`no chunk at byte ${at}`)
    const start = lineEnd + 2
    if (size === 0) return { payload: Buffer.concat(parts), trailer: body.toString('latin1', start).trim() }
    parts.push(body.subarray(start, start + size))
    at = start + size + 2
  }
}

function check(what: string, is: string | undefined, said: string | undefined): void {
  if (is !== said) throw new PayloadError(`the ${what} is ${is}, and the request says ${said}`)
}

function crc32Of(bytes: Buffer): string {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(bytes))
  return sum.toString('base64')
}
