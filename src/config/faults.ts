/** Collects what is wrong with a configuration, so that a person is told everything at once. */

/** What is wrong with one value: the value, its fault, and what to write instead. */
export class ValueFault extends Error {
  override readonly name = 'ValueFault'
}

export class Faults {
  readonly #found = new Map<string, string>()

  /** Notes a fault of the value at `keyPath`. One value is one fault: the first that was found. */
  add(keyPath: string, fault: string): void {
    if (!this.#found.has(keyPath)) this.#found.set(keyPath, fault)
  }

  /** Reads one value. If that is a fault, the rest is read on with `fallback`, which nobody will see. */
  read<T>(keyPath: string, fallback: T, parse: () => T): T {
    try {
      return parse()
    } catch (error) {
      if (!(error instanceof ValueFault)) throw error
      this.add(keyPath, error.message)
      return fallback
    }
  }

  /** Whether the value at `keyPath`, or one within it, has a fault. */
  within(keyPath: string): boolean {
    return [...this.#found.keys()].some((found) => {
      return found.startsWith(keyPath) && /^($|[.[])/.test(found.slice(keyPath.length))
    })
  }

  /** One line a fault. `sources` names where a value came from, if not from the file. */
  lines(sources: ReadonlyMap<string, string>): string[] {
    return [...this.#found].map(([keyPath, fault]) => {
      const source = sources.get(keyPath)
      return source === undefined ? `${keyPath}: ${fault}` : `${keyPath} (${source}): ${fault}`
    })
  }
}

/** One step of a key path, such as `routes[2].match.path`. */
export function step(key: string): string {
  if (/^\d+$/.test(key)) return `[${key}]`
  return /^[\w-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

const SHOWN_LENGTH = 100

/** A value as it may stand in a message: on one line, of bounded length. */
export function shown(value: unknown): string {
  if (value === null) return 'an empty value'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}...` : text
}

/** The one of `known` that `key` was probably meant to be. */
export function nearest(key: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(key.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.ceil(candidate.length / 3))
    .sort((a, b) => a.distance - b.distance)
  return best?.candidate
}

/** Levenshtein's distance, row by row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) {
      const substitution = (row[j] as number) + (from[i] === to[j] ? 0 : 1)
      next.push(Math.min(substitution, (row[j + 1] as number) + 1, (next[j] as number) + 1))
    }
    row = next
  }
  return row[to.length] as number
}
