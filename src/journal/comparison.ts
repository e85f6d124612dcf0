/**
 * Compares the canonical list with what a provider has. Invariant: every entry of the provider's and every canonical
 * one is matched with one of the other side, or reported.
 */
import type { Attempt, ReconciledOperation, Verdict } from './reconcile.ts'

/** An entry of a provider's list. */
export interface ExportEntry {
  /** Where it stands in the file. */
  readonly line: number
  /** The idempotency key, or the provider's key; undefined if it has none. */
  readonly key: string | undefined
  /** What there is in the columns that are compared, in the order of their comparisons. */
  readonly values: readonly (string | undefined)[]
}

/** One column that is compared with a field of the record. */
export interface ColumnComparison {
  readonly column: string
  /** What is on record; undefined where that isn't known, and nothing can be compared. */
  readonly recorded: (operation: ReconciledOperation, attempt: Attempt) => string | undefined
}

export type Difference =
  /** The provider lacks it. */
  | { readonly kind: 'missing'; readonly operation: ReconciledOperation }
  /** The provider has what the canonical list has not, or has twice. `operation` is undefined if none has its key. */
  | {
      readonly kind: 'extra'
      readonly entry: ExportEntry
      readonly operation: ReconciledOperation | undefined
      /** What the record says of that operation. */
      readonly because: Verdict | 'repeated' | 'not-on-record'
    }
  | {
      readonly kind: 'differing'
      readonly entry: ExportEntry
      readonly operation: ReconciledOperation
      readonly column: string
      readonly recorded: string
      readonly exported: string | undefined
    }

/** An entry has the key of two operations that are compared. */
export class AmbiguousKeyError extends Error {
  readonly entry: ExportEntry
  readonly scopes: readonly string[]

  constructor(entry: ExportEntry, operations: readonly ReconciledOperation[]) {
    const scopes = operations.map(({ scope }) => scope)
    super(`operations of the scopes ${scopes.join(' and ')} have the key ${entry.key}`)
    this.entry = entry
    this.scopes = scopes
  }
}

export class Comparison {
  readonly #selected: readonly ReconciledOperation[]
  readonly #columns: readonly ColumnComparison[]
  readonly #byProviderKey: KeyMap = new Map()
  /** Those whose provider was told another key. */
  readonly #byClientKey: KeyMap = new Map()
  readonly #passedOver = new Set<string>()
  readonly #seen = new Set<ReconciledOperation>()

  /**
   * @param selected what is compared.
   * @param others operations whose entries are passed over.
   */
  constructor(
    selected: readonly ReconciledOperation[],
    others: Iterable<ReconciledOperation>,
    columns: readonly ColumnComparison[],
  ) {
    this.#selected = selected
    this.#columns = columns
    for (const operation of selected) {
      const { key, providerKey } = operation
      add(this.#byProviderKey, providerKey, operation)
      if (key !== providerKey) add(this.#byClientKey, key, operation)
    }
    for (const { key, providerKey } of others) this.#passedOver.add(key).add(providerKey)
  }

  /** What is wrong with the provider's next entry. Throws {@link AmbiguousKeyError}. */
  differences(entry: ExportEntry): Difference[] {
    const operation = this.#find(entry)
    if (!operation) {
      if (entry.key !== undefined && this.#passedOver.has(entry.key)) return []
      return [{ kind: 'extra', entry, operation, because: 'not-on-record' }]
    }
    const attempt = operation.canonical
    if (!attempt) return [{ kind: 'extra', entry, operation, because: operation.verdict }]
    if (this.#seen.has(operation)) return [{ kind: 'extra', entry, operation, because: 'repeated' }]
    this.#seen.add(operation)
    return this.#columns.flatMap(({ column, recorded: of }, i): Difference[] => {
      const recorded = of(operation, attempt)
      const exported = entry.values[i]
      if (recorded === undefined || recorded === exported) return []
      return [{ kind: 'differing', entry, operation, column, recorded, exported }]
    })
  }

  /** What no entry so far was for. */
  *missing(): Generator<Difference> {
    for (const operation of this.#selected) {
      if (operation.canonical && !this.#seen.has(operation)) yield { kind: 'missing', operation }
    }
  }

  #find(entry: ExportEntry): ReconciledOperation | undefined {
    if (entry.key === undefined) return undefined
    const found = this.#byProviderKey.get(entry.key) ?? this.#byClientKey.get(entry.key)
    if (Array.isArray(found)) throw new AmbiguousKeyError(entry, found)
    return found
  }
}

type KeyMap = Map<string, ReconciledOperation | ReconciledOperation[]>

function add(map: KeyMap, key: string, operation: ReconciledOperation): void {
  const known = map.get(key)
  map.set(key, known === undefined ? operation : [known, operation].flat())
}
