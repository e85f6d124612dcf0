/** The AWS SDK's own retries: each attempt is checked again, and none is made that cannot succeed. */
import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { until } from '../support/wait.ts'
import { refusalOf } from './s3-refusal.ts'
import { s3Scene } from './s3-scene.ts'

const { stub, sidecar, client, decided } = await s3Scene(() => ({ handoverTimeout: '200ms' }))
const put = (s3: S3Client, Body: string) =>
  s3.send(new PutObjectCommand({ Bucket: 'ledger', Key: 'one', Body }))
const tokens = () => stub.requests.map(({ values }) => values('fencing-token')[0])

test('503 handover-pending is tried again after its Retry-After, and then succeeds', async () => {
  const released = Promise.withResolvers<void>()
  stub.before = () => {
    stub.before = undefined
    return released.promise
  }
  const lower = put(client('pending', 8), 'lower')
  await until(() => stub.requests.length === 1, 'the lower write at the stub')
  const higher = put(client('pending', 9), 'higher')
  await until(async () => (await decided('handover-pending')) === 1, 'a refusal')
  released.resolve()
  await lower
  const { $metadata } = await higher
  expect($metadata.attempts).toBe(2)
  // Without Retry-After: 1 the SDK waits 100 ms at most before its second attempt.
  expect($metadata.totalRetryDelay).toBeGreaterThan(500)
  expect([tokens(), stub.objects.get('ledger/one')?.toString()]).toEqual([['8', '9'], 'higher'])
})

test('502 outcome-unknown is tried again with the same token, and checked again', async () => {
  stub.before = (_request, socket) => {
    stub.before = undefined
    socket.destroy()
  }
  const before = await decided('forwarded')
  const { $metadata } = await put(client('unknown', 8), 'again')
  expect($metadata.attempts).toBe(2)
  expect([tokens(), await decided('forwarded')]).toEqual([['8', '8'], before + 2])
})

test('a token that turns stale between two attempts ends them', async () => {
  let successor: Promise<unknown> | undefined
  stub.before = async (_request, socket) => {
    stub.before = undefined
    successor = put(client('between', 9), 'by the successor')
    await until(async () => (await sidecar.metrics()).sum('fencegate_handovers_pending') === 1, 'a handover')
    socket.destroy()
  }
  const refusal = await refusalOf(put(client('between', 8), 'stale'), 2)
  expect(refusal).toMatchObject({ status: 412, code: 'stale-token', task: 'between', highest: '9' })
  await successor
  expect([tokens(), await decided('stale-token')]).toEqual([['8', '9'], 1])
  expect(stub.objects.get('ledger/one')?.toString()).toBe('by the successor')
})
