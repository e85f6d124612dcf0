/** The operations of the AWS S3 client through the sidecar, each with its signature and its payload intact. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterEach, expect, test } from 'vitest'
import { s3Scene } from './s3-scene.ts'

const { stub, client, decided } = await s3Scene()
const Bucket = 'ledger'
afterEach(() => expect(stub.faults).toEqual([]))

test('put, get, head, copy and delete', async () => {
  const s3 = client('objects', 9)
  await s3.send(new PutObjectCommand({ Bucket, Key: 'one', Body: 'settled' }))
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'one' }))
  expect(await got.Body?.transformToString()).toBe('settled')
  expect((await s3.send(new HeadObjectCommand({ Bucket, Key: 'one' }))).ContentLength).toBe(7)
  const copied = await s3.send(new CopyObjectCommand({ Bucket, Key: 'two', CopySource: `${Bucket}/one` }))
  expect(copied.CopyObjectResult?.ETag).toBe(got.ETag)
  expect(stub.objects.get('ledger/two')?.toString()).toBe('settled')
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'one' }))
  expect(stub.objects.has('ledger/one')).toBe(false)
  expect(stub.requests.map(({ method }) => method)).toEqual(['PUT', 'GET', 'HEAD', 'PUT', 'DELETE'])
  for (const request of stub.requests) {
    expect([request.values('fencing-task'), request.values('fencing-token')]).toEqual([['objects'], ['9']])
  }
})

test('a multipart upload, part by part; another one is aborted', async () => {
  const s3 = client('parts', 9)
  const begin = async (Key: string) => {
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    return { Bucket, Key, UploadId }
  }
  const upload = await begin('multipart')
  const Parts = []
  for (const [i, Body] of ['first, ', 'second'].entries()) {
    const { ETag } = await s3.send(new UploadPartCommand({ ...upload, PartNumber: i + 1, Body }))
    Parts.push({ PartNumber: i + 1, ETag })
  }
  await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }))
  expect(stub.objects.get('ledger/multipart')?.toString()).toBe('first, second')
  await s3.send(new AbortMultipartUploadCommand(await begin('aborted')))
  expect(stub.objects.has('ledger/aborted')).toBe(false)
})

test('without a claim: reads pass, writes get 428 and never arrive', async () => {
  const writer = client('readers', 9)
  await writer.send(new PutObjectCommand({ Bucket, Key: 'read', Body: 'open' }))
  stub.forget()
  const reader = client()
  const got = await reader.send(new GetObjectCommand({ Bucket, Key: 'read' }))
  expect(await got.Body?.transformToString()).toBe('open')
  await expect(status(reader, new PutObjectCommand({ Bucket, Key: 'read', Body: 'x' }))).resolves.toBe(428)
  await expect(status(reader, new DeleteObjectCommand({ Bucket, Key: 'read' }))).resolves.toBe(428)
  expect(stub.requests.map(({ method }) => method)).toEqual(['GET'])
  expect(await decided('token-required')).toBe(2)
})

async function status(s3: S3Client, command: PutObjectCommand | DeleteObjectCommand): Promise<unknown> {
  const error = await s3.send(command as PutObjectCommand).catch((error) => error)
  return error.$metadata?.httpStatusCode
}
