/** The operator: acts over the control socket, and the list of unknown outcomes, all noted for the history. */
import type { Act, Listing, Recorded } from '../support/history.ts'
import { now } from '../support/history-log.ts'
import type { Sidecar } from './sidecar.ts'

const author = { by: 'torture', reason: 'a seeded round' }
/** More than a round can make. */
const LIMIT = 10_000

interface FreezeAnswer {
  readonly open: readonly { readonly operation: string }[]
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export class Operator {
  readonly acts: Mutable<Act>[] = []
  readonly listings: Listing[] = []
  readonly frozen = new Set<string>()
  readonly #sidecar: Sidecar

  constructor(sidecar: Sidecar) {
    this.#sidecar = sidecar
  }

  async freeze(task: string): Promise<void> {
    this.frozen.add(task)
    const open: string[] = []
    await this.#act(
      { kind: 'freeze', task, open, from: now(), until: undefined },
      `tasks/${task}/freeze`,
      author,
      (body) => {
        for (const { operation } of body.open) open.push(operation)
      },
    )
  }

  /** Whether it was done. */
  async thaw(task: string, token: bigint | undefined): Promise<boolean> {
    const body = { ...author, ...(token !== undefined && { token: token.toString() }) }
    const done = await this.#act(
      { kind: 'thaw', task, token, from: now(), until: undefined },
      `tasks/${task}/thaw`,
      body,
    )
    if (done) this.frozen.delete(task)
    return done
  }

  async raise(task: string, token: bigint): Promise<void> {
    const act: Act = { kind: 'raise', task, token, from: now(), until: undefined }
    await this.#act(act, `tasks/${task}/raise`, { ...author, token: token.toString() })
  }

  async resolve(record: string): Promise<boolean> {
    const act: Act = { kind: 'resolve', record, from: now(), until: undefined }
    return this.#act(act, `unknown/${record}/resolve`, { ...author, resolution: 'compensated' })
  }

  /** The unresolved outcomes; undefined if no sidecar answers. */
  async list(): Promise<readonly Recorded[] | undefined> {
    const from = now()
    const answer = await this.#sidecar.control('GET', `/v1/unknown?limit=${LIMIT}`)
    if (answer?.status !== 200) return undefined
    const rows: (Omit<Recorded, 'token'> & { token: string })[] = answer.body.unknown
    if (rows.length === LIMIT) throw new Error(`${LIMIT} outcomes are unresolved: the list may not be whole`)
    const records = rows.map(({ id, operation, task, token, holds }) => ({
      id,
      operation,
      task,
      token: BigInt(token),
      holds,
    }))
    this.listings.push({ from, until: now(), records })
    return records
  }

  async #act(
    act: Mutable<Act>,
    target: string,
    body: object,
    read?: (body: FreezeAnswer) => void,
  ): Promise<boolean> {
    this.acts.push(act)
    const answer = await this.#sidecar.control('POST', `/v1/${target}`, body)
    if (answer?.status !== 200) return false
    read?.(answer.body)
    act.until = now()
    return true
  }
}
