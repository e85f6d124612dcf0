/**
 * The settlement ledger, as a process: a small HTTP store that, like the one in the incident, takes any
 * writer. It looks at no lease and no token; the last write of a batch stands. It remembers who wrote what,
 * in which order, and that record is what the verdict rests on.
 *
 * `PUT /exports/{task}/batches/{n}` writes a batch, `GET /exports/{task}` reads the state.
 */
import { readJson, serve } from './role.ts'
import type { Batch, LedgerState, LedgerWrite } from './story.ts'

const BATCH = /^\/exports\/[^/]+\/batches\/(\d+)$/

/** In the order in which they were taken. The demo knows one task only. */
const writes: LedgerWrite[] = []

function state(): LedgerState {
  const latest = new Map(writes.map((write) => [write.batch, write]))
  return { writes, export: [...latest.values()].sort((a, b) => a.batch - b.batch) }
}

await serve(async (request, response) => {
  const answer = (status: number, body: object) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

  const batch = BATCH.exec(request.url ?? '')?.[1]
  if (request.method === 'PUT' && batch !== undefined) {
    const { writer, payouts } = (await readJson(request)) as Batch
    const cents = payouts.reduce((sum, payout) => sum + payout.cents, 0)
    writes.push({ writer, batch: Number(batch), cents, port: request.socket.remotePort ?? 0 })
    answer(200, { taken: writes.length })
  } else if (request.method === 'GET') {
    answer(200, state())
  } else {
    answer(404, { error: `no ${request.method} ${request.url} here` })
  }
})
