/** Each way in which the AWS S3 client sends a body, and protects it: the stub holds what the client had. */
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { afterEach, expect, test } from 'vitest'
import { AFTER_SIGNING, s3Scene } from './s3-scene.ts'

const { stub, client } = await s3Scene()
const Bucket = 'ledger'
const MIB = 1 << 20
/** The SDK sends the body without `100 Continue` after this long. */
const SDK_PATIENCE_MS = 6000
afterEach(() => expect(stub.faults).toEqual([]))

const sha256 = (bytes: Buffer | undefined) =>
  createHash('sha256')
    .update(bytes ?? 'nothing')
    .digest('hex')

/** In pieces of odd sizes. */
function streamed(bytes: Buffer): Readable {
  const pieces: Buffer[] = []
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 7 + 11) % 70_001) {
    pieces.push(bytes.subarray(at, at + size))
  }
  return Readable.from(pieces)
}

test.each([0, 1, 100_000])('a buffer of %i bytes, hashed into the signature', async (size) => {
  const bytes = randomBytes(size)
  await client('buffer', 9).send(new PutObjectCommand({ Bucket, Key: 'buffer', Body: bytes }))
  expect(sha256(stub.objects.get('ledger/buffer'))).toBe(sha256(bytes))
  const [request] = stub.requests
  expect(request?.values('x-amz-content-sha256')).toEqual([sha256(bytes)])
  expect(request?.values('x-amz-checksum-crc32')).toHaveLength(1)
})

test('a stream with its checksum in a trailer of the aws-chunked coding', async () => {
  const bytes = randomBytes(MIB)
  const put = { Bucket, Key: 'trailer', Body: streamed(bytes), ContentLength: bytes.length }
  await client('trailer', 9).send(new PutObjectCommand(put))
  expect(sha256(stub.objects.get('ledger/trailer'))).toBe(sha256(bytes))
  const [request] = stub.requests
  expect(request?.values('x-amz-content-sha256')).toEqual(['STREAMING-UNSIGNED-PAYLOAD-TRAILER'])
  expect(request?.values('content-encoding')).toEqual(['aws-chunked'])
  expect(request?.values('transfer-encoding')).toEqual(['chunked'])
})

test('a stream without a checksum, by length', async () => {
  const bytes = randomBytes(MIB)
  const s3 = client('unsigned', 9, { requestChecksumCalculation: 'WHEN_REQUIRED' })
  const put = { Bucket, Key: 'unsigned', Body: streamed(bytes), ContentLength: bytes.length }
  await s3.send(new PutObjectCommand(put))
  expect(sha256(stub.objects.get('ledger/unsigned'))).toBe(sha256(bytes))
  const [request] = stub.requests
  expect(request?.values('x-amz-content-sha256')).toEqual(['UNSIGNED-PAYLOAD'])
  expect(request?.values('content-length')).toEqual([String(bytes.length)])
})

test('Expect: 100-continue is answered, and goes no further', async () => {
  const bytes = randomBytes(3 * MIB)
  const s3 = client('expect', 9)
  let expects: string | undefined
  s3.middlewareStack.add(
    (next) => (args) => {
      expects = (args.request as { headers: Record<string, string> }).headers.Expect
      return next(args)
    },
    AFTER_SIGNING,
  )
  const begun = performance.now()
  await s3.send(new PutObjectCommand({ Bucket, Key: 'expect', Body: bytes }))
  expect(performance.now() - begun).toBeLessThan(SDK_PATIENCE_MS)
  expect(expects).toBe('100-continue')
  expect(sha256(stub.objects.get('ledger/expect'))).toBe(sha256(bytes))
  expect(stub.requests[0]?.values('expect')).toEqual([])
})

test('a stream of unknown length, in parts side by side', async () => {
  const bytes = randomBytes(12 * MIB + 12_345)
  const params = { Bucket, Key: 'parts', Body: streamed(bytes) }
  await new Upload({ client: client('upload', 9), params, partSize: 5 * MIB, queueSize: 3 }).done()
  expect(sha256(stub.objects.get('ledger/parts'))).toBe(sha256(bytes))
  const parts = stub.requests.filter(({ target }) => target.includes('partNumber'))
  expect(parts).toHaveLength(3)
  for (const request of stub.requests) expect(request.values('fencing-token')).toEqual(['9'])
})
