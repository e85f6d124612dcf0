/**
 * A settlement worker, as a process: acquires the lease, writes the export in batches on one keep-alive
 * connection, each with its token, and releases. The code is what such workers are: before each batch it
 * looks whether its lease still runs by its own clock, then it takes up the rows, then it writes. Between
 * the look and the write anything may happen, and nothing that a worker could do closes that gap.
 *
 * Arguments: writer, file of its wall clock's offset.
 */
import { Connection, type Reply } from './connection.ts'
import { nextOrder, report } from './role.ts'
import {
  type Answer,
  BATCHES,
  type Ending,
  LEASE_TTL_MS,
  type Payout,
  type Rows,
  type Start,
  TASK,
  type Writer,
} from './story.ts'
import { type WallClock, wallClock } from './wall-clock.ts'

const [writer, clockFile = ''] = process.argv.slice(2)

class Worker {
  readonly #writer: Writer
  readonly #now: WallClock
  readonly #authority: Connection
  readonly #store: Connection
  #token = 0
  #expiresAt = 0

  constructor(writer: Writer, now: WallClock, authority: Connection, store: Connection) {
    this.#writer = writer
    this.#now = now
    this.#authority = authority
    this.#store = store
  }

  async run(): Promise<void> {
    await this.#acquire()
    const ending = await this.#export()
    const released = ending === 'completed' && (await this.#release())
    await report({ kind: 'done', ending, leftMs: this.#leftMs(), released })
  }

  /** What is left of the lease: the worker's belief, and all it knows. */
  #leftMs(): number {
    return this.#expiresAt - this.#now()
  }

  async #acquire(): Promise<void> {
    const reply = await this.#authority.send('POST', `/leases/${TASK}`, {
      holder: this.#writer,
      ttlMs: LEASE_TTL_MS,
    })
    this.#expiresAt = this.#now() + LEASE_TTL_MS
    this.#token = (reply.body as { token: number }).token
    await report({ kind: 'acquired', token: this.#token, leftMs: this.#leftMs() })
  }

  async #export(): Promise<Ending> {
    for (let batch = 1; batch <= BATCHES; batch++) {
      const leftMs = this.#leftMs()
      if (leftMs <= 0) return 'lease-over'
      await report({ kind: 'checked', batch, leftMs })
      const { payouts } = await nextOrder<Rows>()
      const answer = await this.#write(batch, payouts)
      await report({ kind: 'answered', ...answer })
      if (answer.code === 'stale-token') return 'told-to-stop'
      if (answer.status !== 200) throw new Error(`batch ${batch} got an unforeseen ${answer.status}`)
    }
    return 'completed'
  }

  async #write(batch: number, payouts: readonly Payout[]): Promise<Answer> {
    const leftMs = this.#leftMs()
    const reply = await this.#store.send(
      'PUT',
      `/exports/${TASK}/batches/${batch}`,
      { writer: this.#writer, payouts },
      { 'Fencing-Task': TASK, 'Fencing-Token': this.#token },
    )
    const { status, localPort: port } = reply
    return { batch, token: this.#token, leftMs, status, port, ...problem(reply) }
  }

  async #release(): Promise<boolean> {
    const { status } = await this.#authority.send('DELETE', `/leases/${TASK}/${this.#token}`)
    return status === 200
  }
}

/** The members of a problem document that a worker acts on; nothing for an answer of the ledger's. */
function problem({ status, body }: Reply): Pick<Answer, 'code' | 'detail' | 'retry'> {
  if (status < 400 || typeof body !== 'object' || body === null) return {}
  const { code, detail, retry } = body as Record<string, string>
  return { code, detail, retry }
}

await report({ kind: 'ready' })
const start = await nextOrder<Start>()
const authority = new Connection(start.authority)
const store = new Connection(start.store)
await new Worker(writer as Writer, wallClock(clockFile), authority, store).run()
authority.close()
store.close()
process.disconnect?.()
