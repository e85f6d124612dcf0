/** Makes an input smaller while it still fails: fewer connections, fewer writes, fewer lines, fewer bytes. */
import type { ConnectionInput, Input } from './input.ts'

/** Whether the input still fails in the same way. */
export type Fails = (input: Input) => Promise<boolean>

/** @param ms how long it may take, give or take one input. */
export async function shrink(input: Input, fails: Fails, ms: number): Promise<Input> {
  const deadline = performance.now() + ms
  let smallest = input
  const better = async (connections: readonly ConnectionInput[]) => {
    const candidate = { ...smallest, connections }
    if (performance.now() > deadline || !(await fails(candidate))) return false
    smallest = candidate
    return true
  }
  for (let i = input.connections.length - 1; i >= 0; i--) {
    const others = smallest.connections.filter((_, other) => other !== i)
    if (others.length > 0) await better(others)
  }
  for (let i = 0; i < smallest.connections.length; i++) {
    const change = (changed: Partial<ConnectionInput>) => {
      const whole = { ...(smallest.connections[i] as ConnectionInput), ...changed }
      const cuts = whole.cuts.filter((cut) => cut < whole.bytes.length)
      return better(smallest.connections.with(i, { ...whole, cuts }))
    }
    await change({ cuts: [] })
    await change({ leaving: 'wait' })
    for (const piecesOf of [linesOf, bytesOf]) {
      await fewer(piecesOf((smallest.connections[i] as ConnectionInput).bytes), (pieces) =>
        change({ bytes: Buffer.concat(pieces) }),
      )
    }
  }
  return smallest
}

/** Leaves out runs of pieces, half of them first, as long as `accept` takes what is left. */
async function fewer(all: readonly Buffer[], accept: (pieces: Buffer[]) => Promise<boolean>): Promise<void> {
  let pieces = [...all]
  for (let size = Math.ceil(pieces.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < pieces.length; ) {
      const rest = pieces.toSpliced(at, size)
      if (await accept(rest)) pieces = rest
      else at += size
    }
  }
}

function linesOf(bytes: Buffer): Buffer[] {
  const lines = bytes.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? []
  return lines.map((line) => Buffer.from(line, 'latin1'))
}

function bytesOf(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
}
