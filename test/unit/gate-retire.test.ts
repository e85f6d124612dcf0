/** Retiring idle marks, and noting which are in use. */
import { expect, test } from 'vitest'
import { StoreError } from '../../src/store/mark-store.ts'
import { ANSWERED, GateRig, NOT_SENT, refusalOf, UNKNOWN } from '../support/store-and-gate.ts'
import { settled } from '../support/virtual-clock.ts'

const DAY_MS = 86_400_000
const AUTHOR = { by: 'ops', reason: 'last year' }
const marks = {
  'job-1': { token: 5n, complete: true },
  'job-2': { token: 9n, complete: true },
  'other-1': { token: 99n, complete: true },
}

/** All marks were used long ago. */
function idle(): GateRig {
  const rig = new GateRig({ marks })
  for (const task of Object.keys(marks)) rig.disk.usedAtMs.set(task, Date.now() - 40 * DAY_MS)
  return rig
}
const retire = (rig: GateRig, floor: bigint, prefix = 'job-') =>
  rig.done(rig.operator.retire({ prefix, idleMs: 30 * DAY_MS, floor }, AUTHOR))

test('idle marks become a floor for their prefix; others stay', async () => {
  const rig = idle()
  expect(await retire(rig, 9n)).toEqual({ prefix: 'job-', floor: 9n, retired: 2 })
  expect([...rig.disk.marks.keys()]).toEqual(['other-1'])
  const details = { prefix: 'job-', idleMs: 30 * DAY_MS, floor: 9n }
  expect(rig.disk.acts).toMatchObject([{ kind: 'retire', task: undefined, details, ...AUTHOR }])
  expect(await rig.refusal(8n, 'job-1')).toMatchObject({ code: 'stale-token', highest: 9n })
  await rig.permit(9n, 'job-3')
  await rig.permit(1n, 'new')
})

test('a mark in the gate’s memory is forgotten there too', async () => {
  const rig = idle()
  ;(await rig.permit(5n, 'job-1')).release(NOT_SENT)
  rig.disk.usedAtMs.set('job-1', Date.now() - 40 * DAY_MS)
  await retire(rig, 9n)
  expect(await rig.refusal(5n, 'job-1')).toMatchObject({ code: 'stale-token', highest: 9n })
})

test('a task that the gate knows without a mark starts at the new floor', async () => {
  const rig = idle()
  await rig.done(rig.operator.thaw('job-3', AUTHOR))
  await retire(rig, 9n)
  expect(await rig.refusal(8n, 'job-3')).toMatchObject({ code: 'stale-token', highest: 9n })
})

test('a raise that reaches the store behind a higher floor is read back, and refused', async () => {
  const rig = idle()
  const asked = rig.ask(3n, 'job-3')
  await rig.serve()
  const [raise] = rig.store.pending
  expect(rig.pending).toEqual(['record 3 complete'])
  const retired = rig.operator.retire({ prefix: 'job-', idleMs: 30 * DAY_MS, floor: 9n }, AUTHOR)
  await settled()
  while (rig.disk.floors.size === 0) {
    rig.store.pending.at(-1)?.serve('done')
    await settled()
  }
  raise?.serve('done')
  await rig.done(retired)
  expect(refusalOf(asked)).toMatchObject({ code: 'stale-token', highest: 9n })
})

test('an idle mark above the floor: refused, and nothing is changed', async () => {
  const rig = idle()
  await expect(retire(rig, 8n)).rejects.toThrow(/idle mark of job-2 is 9, above 8/)
  expect([rig.disk.marks.size, rig.disk.floors.size, rig.disk.acts]).toEqual([3, 0, []])
})

test('what is in use, frozen or unresolved is kept', async () => {
  const rig = idle()
  rig.usage.used('job-1')
  await rig.done(rig.operator.freeze('job-2', AUTHOR))
  expect(await retire(rig, 9n)).toMatchObject({ retired: 0 })
  expect(rig.disk.marks.size).toBe(3)
  ;(await rig.permit(5n, 'job-1')).release(NOT_SENT)
})

test('an hour is the shortest time, and no floor may be where no write could pass', async () => {
  const rig = idle()
  const request = { prefix: '', idleMs: 3_599_999, floor: 99n }
  await expect(rig.done(rig.operator.retire(request, AUTHOR))).rejects.toThrow(/an hour/)
  await expect(retire(rig, 2n ** 63n)).rejects.toThrow(/maxToken/)
})

test('a mark with an open write is in use, however long ago that began', async () => {
  const rig = idle()
  const upload = await rig.begun(5n, 'job-1')
  rig.disk.usedAtMs.set('job-1', Date.now() - 40 * DAY_MS)
  expect(await retire(rig, 9n)).toMatchObject({ retired: 1 })
  upload.release(ANSWERED)
  await rig.permit(5n, 'job-1')
})

test('a retirement under way holds up no resolution', async () => {
  const rig = idle()
  ;(await rig.begun(5n, 'job-1')).release(UNKNOWN)
  await rig.serveAll()
  const [id] = [...rig.disk.writes.keys()]
  const { idle: list } = rig.store
  let goOn = () => {}
  rig.store.idle = async (query) => {
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
    return list.call(rig.store, query)
  }
  const retired = rig.operator.retire({ prefix: 'job-', idleMs: 30 * DAY_MS, floor: 9n }, AUTHOR)
  await settled()
  await rig.done(rig.operator.resolve(id as string, 'applied', AUTHOR))
  rig.store.idle = list
  goOn()
  await rig.done(retired)
})

test('a permit says that its task is in use', async () => {
  const rig = new GateRig({ marks })
  await rig.permit(5n, 'job-1')
  await rig.refusal(4n, 'job-1')
  expect(rig.used).toEqual(['job-1'])
})

test('what is in use is noted together every ten minutes, and at the end', async () => {
  const rig = idle()
  const since = Date.now()
  rig.usage.used('job-1')
  rig.usage.used('job-1')
  rig.usage.used('other-1')
  expect(rig.pending).toEqual([])
  await rig.clock.advance(600_000)
  expect(rig.store.pending.map(({ changes }) => changes)).toMatchObject([
    [{ kind: 'used', tasks: ['job-1', 'other-1'] }],
  ])
  await rig.serveAll()
  expect(rig.disk.usedAtMs.get('job-1')).toBeGreaterThanOrEqual(since)
  rig.usage.used('job-2')
  await rig.done(rig.usage.close())
  expect(rig.disk.usedAtMs.get('job-2')).toBeGreaterThanOrEqual(since)
  expect(rig.clock.pending).toBe(0)
})

test('what could not be noted is noted the next time', async () => {
  const rig = idle()
  rig.usage.used('job-1')
  const failed = rig.usage.note()
  failed.catch(() => {})
  await rig.serve('lost')
  await expect(failed).rejects.toThrow(StoreError)
  const since = Date.now()
  await rig.done(rig.usage.note())
  expect(rig.disk.usedAtMs.get('job-1')).toBeGreaterThanOrEqual(since)
})
