/** Stale tokens under the AWS S3 client: refused once, not retried, nothing at the stub, and the error says why. */
import { Readable } from 'node:stream'
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { refusalOf } from './s3-refusal.ts'
import { s3Scene } from './s3-scene.ts'

const { stub, sidecar, client, decided } = await s3Scene()
const Bucket = 'ledger'
const MIB = 1 << 20
const put = (s3: S3Client, Body: PutObjectCommandInput['Body'] = 'settled', more = {}) =>
  s3.send(new PutObjectCommand({ Bucket, Key: 'one', Body, ...more }))
const STALE = { status: 412, code: 'stale-token', token: '8', highest: '9', sent: 'no', retry: 'never' }

await put(client('stale', 9))

test.each([
  ['a buffer', (s3: S3Client) => put(s3)],
  ['a body that waits for 100 Continue', (s3: S3Client) => put(s3, Buffer.alloc(3 * MIB))],
  ['a stream', (s3: S3Client) => put(s3, Readable.from([Buffer.alloc(MIB)]), { ContentLength: MIB })],
  [
    'a copy',
    (s3: S3Client) => s3.send(new CopyObjectCommand({ Bucket, Key: 'two', CopySource: 'ledger/one' })),
  ],
  ['a deletion', (s3: S3Client) => s3.send(new DeleteObjectCommand({ Bucket, Key: 'one' }))],
])('%s', async (_what, write) => {
  const before = await decided('stale-token')
  const refusal = await refusalOf(write(client('stale', 8)))
  expect(refusal).toMatchObject({
    ...STALE,
    task: 'stale',
    detail: expect.stringContaining('Stop this work'),
  })
  expect(await decided('stale-token')).toBe(before + 1)
  expect(stub.requests).toEqual([])
  expect(stub.objects.get('ledger/one')?.toString()).toBe('settled')
})

test('an upload whose token turns stale between two parts, and which can then not be tidied up', async () => {
  let successor: Promise<unknown> | undefined
  stub.before = async ({ target }) => {
    if (!target.includes('partNumber=1&')) return
    successor = put(client('upload', 9), 'by the successor')
    await until(async () => (await sidecar.metrics()).sum('fencegate_handovers_pending') === 1, 'a handover')
  }
  const before = await decided('stale-token')
  const params = { Bucket, Key: 'parts', Body: Buffer.alloc(15 * MIB) }
  const upload = new Upload({ client: client('upload', 8), params, partSize: 5 * MIB, queueSize: 1 })
  expect(await refusalOf(upload.done())).toMatchObject(STALE)
  await successor
  const seen = stub.requests.map(({ method, values }) => [method, values('fencing-token')[0]])
  expect(seen).toEqual([
    ['POST', '8'],
    ['PUT', '8'],
    ['PUT', '9'],
  ])
  // One part, and the AbortMultipartUpload that the SDK sends then, which is a write like any other.
  expect(await decided('stale-token')).toBe(before + 2)
})

test('on a route that speaks as S3 does, the error itself names the reason', async () => {
  const fluent = await s3Scene(() => ({
    routes: [{ name: 's3', match: { path: '/*' }, refusalFormat: 's3' }],
  }))
  await put(fluent.client('fluent', 9))
  await expect(put(fluent.client('fluent', 8))).rejects.toMatchObject({
    name: 'stale-token',
    message: expect.stringContaining('Stop this work'),
    $metadata: { httpStatusCode: 412, attempts: 1 },
  })
})
