/**
 * One input: the bytes of one or several client connections, and how they are sent.
 *
 * The bytes hold {@link TAG} wherever they name themselves or their task. Each run puts another name of the same
 * length in its place, so that a run is told from every other and finds a task without history.
 */
import { escaped } from './escape.ts'

export const TAG = '~~~~~~'

export interface ConnectionInput {
  readonly bytes: Buffer
  /** Offsets at which a new write begins, ascending. */
  readonly cuts: readonly number[]
  /**
   * What the client does when all is sent. `wait`: takes an answer to each request, then leaves; `end`: ends its
   * side at once; `reset`: resets the connection.
   */
  readonly leaving: 'wait' | 'end' | 'reset'
}

export interface Input {
  readonly connections: readonly ConnectionInput[]
  /** Plainly valid, with current tokens: all of it must be forwarded and answered. */
  readonly honest: boolean
  /** What was done to it. */
  readonly notes: readonly string[]
}

/** The bytes with the name of a run in the tag's place. */
export function tagged(bytes: Buffer, name: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll(TAG, name), 'latin1')
}

/** Of each connection, for people: what is longer has its input's number to be seen by. */
const SHOWN_BYTES = 1000

/** For people, and to be pasted into the corpus. */
export function described({ connections, notes, honest }: Input): string {
  const lines = connections.map(({ bytes, cuts, leaving }) => {
    const more = bytes.length > SHOWN_BYTES ? `... ${bytes.length} bytes` : ''
    const shown = escaped(bytes.subarray(0, SHOWN_BYTES))
    return `  '${shown}'${more}\n    in ${cuts.length + 1} writes, then ${leaving}`
  })
  return [honest ? 'honest' : `mutated (${notes.join('; ')})`, ...lines].join('\n')
}
