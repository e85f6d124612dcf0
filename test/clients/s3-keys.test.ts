/**
 * Object keys that URLs find hard, on a route that looks at the path: each reaches the stub byte for byte, or the
 * signature would not match. A key that would lead out of the route is refused.
 */
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { refusalOf } from './s3-refusal.ts'
import { s3Scene } from './s3-scene.ts'

const { stub, client } = await s3Scene(() => ({ routes: [{ name: 'ledger', match: { path: '/ledger/*' } }] }))
const s3 = client('keys', 9)
const Bucket = 'ledger'

test.each([
  'with spaces  and more',
  '100%',
  '%2F',
  'a%20b',
  'a%252Fb',
  'a+b',
  'a//b',
  '/leading',
  'trailing/',
  "it's (1) *!~.txt",
  'a?b=c&d',
  'a#b',
  'a;v=1/b',
  'a\\b',
  'a/../b',
  'a/./b',
  '.hidden',
  'Zürich/日本/😀',
  'line\nbreak\ttab',
])('%j', async (Key) => {
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }))
  expect([...stub.objects.keys()]).toContain(`ledger/${Key}`)
  const got = await s3.send(new GetObjectCommand({ Bucket, Key }))
  expect(await got.Body?.transformToString()).toBe(Key)
  await s3.send(new DeleteObjectCommand({ Bucket, Key }))
  expect(stub.objects.has(`ledger/${Key}`)).toBe(false)
  expect(stub.faults).toEqual([])
})

test.each(['../other', 'a/../../other', '..'])('%j is refused, and never arrives', async (Key) => {
  const refusal = await refusalOf(s3.send(new PutObjectCommand({ Bucket, Key, Body: Key })))
  expect(refusal).toMatchObject({ status: 400, code: 'ambiguous-target', sent: 'no' })
  expect(stub.requests).toEqual([])
})
