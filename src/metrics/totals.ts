/** Totals since the process started, for a reader that makes rates of two of them. */

/** Keys are part of the admin API's answer. */
export interface Snapshot {
  /** Those that occurred. */
  readonly decisions: readonly DecisionCount[]
  readonly staleRejections: number
  readonly raises: number
  /** Raises that became durable, and how long they took together. */
  readonly commits: { readonly count: number; readonly sumMs: number }
}

export interface DecisionCount {
  readonly route: string
  readonly decision: string
  readonly count: number
}

export class Totals {
  /** By route, then by decision. */
  readonly #decisions = new Map<string, Map<string, number>>()
  #staleRejections = 0
  #raises = 0
  #commitsMs = 0

  decided(route: string, decision: string): void {
    let ofRoute = this.#decisions.get(route)
    if (!ofRoute) {
      ofRoute = new Map()
      this.#decisions.set(route, ofRoute)
    }
    ofRoute.set(decision, (ofRoute.get(decision) ?? 0) + 1)
  }

  rejectedAsStale(): void {
    this.#staleRejections++
  }

  raised(ms: number): void {
    this.#raises++
    this.#commitsMs += ms
  }

  snapshot(): Snapshot {
    return {
      decisions: Array.from(this.#decisions, ([route, ofRoute]) =>
        Array.from(ofRoute, ([decision, count]) => ({ route, decision, count })),
      ).flat(),
      staleRejections: this.#staleRejections,
      raises: this.#raises,
      commits: { count: this.#raises, sumMs: this.#commitsMs },
    }
  }
}
