/** Bodies of any size pass through little memory, both ways. */
import { expect, test } from 'vitest'
import { LINUX, residentBytes } from '../support/linux.ts'
import { encode } from '../support/raw-client.ts'
import { claim, scene } from '../support/scene.ts'

const { upstream, sidecar, send, connect } = await scene()
const MEBI = 2 ** 20
const SIZE = 192 * MEBI
const PIECE = Buffer.alloc(MEBI, 'a piece of a large body ')

/** How much more memory the sidecar had, at most, while `work` went on. */
async function growth(work: () => Promise<void>): Promise<number> {
  for (let i = 0; i < 200; i++)
    expect((await send(claim('K', 1, { body: PIECE.subarray(0, 2000) }))).status).toBe(200)
  const before = residentBytes(sidecar.process.pid)
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(sidecar.process.pid))
  }, 10)
  await work().finally(() => clearInterval(timer))
  return peak - before
}

test.runIf(LINUX)('an upload', async () => {
  const grown = await growth(async () => {
    const client = await connect()
    await client.send(encode(claim('K', 1, { body: '', headers: [['Content-Length', String(SIZE)]] })))
    for (let sent = 0; sent < SIZE; sent += PIECE.length) await client.send(PIECE)
    expect((await client.answer('PUT', 30_000)).status).toBe(200)
    expect(upstream.last.body.bytes).toBe(SIZE)
    client.close()
  })
  expect(grown).toBeLessThan(48 * MEBI)
})

test.runIf(LINUX)('a download', async () => {
  const grown = await growth(async () => {
    upstream.once(async (exchange) => {
      await exchange.wholeBody()
      await exchange.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`)
      for (let sent = 0; sent < SIZE; sent += PIECE.length) await exchange.write(PIECE)
    })
    const client = await connect()
    await client.send(encode(claim('K', 1)))
    expect((await client.answer('PUT', 30_000)).body.bytes).toBe(SIZE)
    client.close()
  })
  expect(grown).toBeLessThan(48 * MEBI)
})
