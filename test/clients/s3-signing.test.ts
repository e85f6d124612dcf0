/**
 * Signatures and the sidecar: what it leaves alone is still signed, and what it changes or takes away must not be.
 * The last tests hold the stub itself: it refuses what S3 refuses.
 */
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { AFTER_SIGNING, s3Scene } from './s3-scene.ts'
import { CREDENTIALS } from './s3-signature.ts'

const { stub, client } = await s3Scene(({ url }) => ({
  routes: [
    { name: 'hidden', match: { path: '/hidden/*' }, forwardClaim: false },
    { name: 'rewritten', match: { path: '/rewritten/*' }, upstream: { url, host: 'rewrite' } },
    { name: 'added', match: { path: '/added/*' }, upstream: { url, forwardedHeaders: true, via: true } },
  ],
}))

const put = (s3: S3Client, Bucket = 'ledger') =>
  s3.send(new PutObjectCommand({ Bucket, Key: 'signed', Body: 'settled' }))
const mismatch = { name: 'SignatureDoesNotMatch', $metadata: { httpStatusCode: 403, attempts: 1 } }
const signedHeaders = () =>
  /SignedHeaders=([^,]+)/.exec(stub.requests[0]?.values('authorization')[0] ?? '')?.[1]

test.each([true, false])('a claim that is signed or not: %s', async (signClaim) => {
  await put(client('signed', 9, { signClaim }))
  expect(stub.requests[0]?.values('fencing-token')).toEqual(['9'])
  expect(signedHeaders()?.includes('fencing-task;fencing-token')).toBe(signClaim)
  expect(stub.faults).toEqual([])
})

test('forwardClaim: false takes an unsigned claim away; a signed one is missed', async () => {
  await put(client('hidden', 9), 'hidden')
  expect(stub.requests[0]?.values('fencing-token')).toEqual([])
  expect(stub.faults).toEqual([])
  await expect(put(client('hidden', 9, { signClaim: true }), 'hidden')).rejects.toMatchObject(mismatch)
})

test('a rewritten Host breaks the signature', async () => {
  await expect(put(client('host', 9), 'rewritten')).rejects.toMatchObject(mismatch)
})

test('fields that the sidecar adds do not', async () => {
  await put(client('added', 9), 'added')
  expect(stub.requests[0]?.values('via')).toEqual(['1.1 fencegate'])
  expect(stub.requests[0]?.values('x-forwarded-for')).toEqual(['127.0.0.1'])
  expect(stub.faults).toEqual([])
})

test('the stub refuses another secret', async () => {
  const credentials = { ...CREDENTIALS, secretAccessKey: 'another' }
  await expect(put(client('stub', 9, { credentials }))).rejects.toMatchObject(mismatch)
})

test.each([
  [
    'a query parameter',
    (request: Sent) => Object.assign(request.query, { acl: '' }),
    'SignatureDoesNotMatch',
  ],
  ['the path', (request: Sent) => Object.assign(request, { path: '/ledger/other' }), 'SignatureDoesNotMatch'],
  [
    'a signed field',
    (request: Sent) => Object.assign(request.headers, { 'x-amz-acl': 'a' }),
    'SignatureDoesNotMatch',
  ],
  ['the body', (request: Sent) => Object.assign(request, { body: 'SETTLED' }), 'BadDigest'],
])('the stub refuses %s that was changed after signing', async (_what, change, name) => {
  const s3 = client('stub', 9)
  s3.middlewareStack.add(
    (next) => (args) => {
      change(args.request as Sent)
      return next(args)
    },
    { ...AFTER_SIGNING, name: 'change' },
  )
  await expect(put(s3)).rejects.toMatchObject({ name })
})

interface Sent {
  readonly headers: Record<string, string>
  readonly query: Record<string, string>
}
