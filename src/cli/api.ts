/** What the sidecar's API answers, as far as the commands show it. Tokens are strings, absent members are missing. */

export interface Status {
  readonly version: string
  readonly phase: 'starting' | 'serving' | 'stopping'
  readonly grace: boolean
  readonly startedAtMs: number
  readonly nowMs: number
  readonly openWrites: number
  readonly oldestOpenWriteMs?: number
  readonly handoversPending: number
  readonly tasks: number
  readonly frozen: number
  readonly unresolved: number
  readonly commitSequence: number
  readonly streams: number
  /** Counted since the process started, as the next ones are. */
  readonly decisions: readonly { readonly route: string; readonly decision: string; readonly count: number }[]
  readonly staleRejections: number
  readonly raises: number
  readonly commits: { readonly count: number; readonly sumMs: number }
  readonly upstreams: readonly { readonly origin: string; readonly state: string }[]
}

export interface Task {
  readonly task: string
  readonly mark: string
  readonly recorded: boolean
  readonly complete: boolean
  readonly holder?: string
  readonly frozen: boolean
  readonly usedAtMs?: number
  readonly openWrites: number
  readonly oldestOpenWriteMs?: number
  readonly handover?: { readonly waitedMs: number }
}

export interface OpenWrite {
  readonly route: string
  readonly method: string
  readonly target: string
  readonly operation?: string
  readonly token: string
  readonly holder?: string
  readonly ageMs: number
}

export interface Entry {
  readonly seq: number
  readonly atMs: number
  readonly kind: string
  readonly task?: string
  readonly token?: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface TaskPage extends Task {
  /** The lowest token that passes, once thawed. */
  readonly passes: string
  readonly open: readonly OpenWrite[]
  readonly held: readonly { readonly id: string; readonly token: string; readonly operation?: string }[]
  readonly rejections: readonly Entry[]
}

/** What an act on a task answers. */
export interface ActAnswer {
  readonly task: string
  readonly mark: string
  readonly frozen: boolean
  readonly passes: string
  readonly open: readonly OpenWrite[]
}

export interface ResetAnswer {
  readonly task: string
  readonly mark: string
  readonly to: string
  readonly confirm: string
  readonly expiresInMs: number
  readonly warning: string
}

export interface StoreAnswer {
  readonly path: string
  readonly schema: number
  readonly createdAtMs: number
  readonly created: boolean
  readonly unclean: boolean
  readonly tasks: number
  readonly frozen: number
  readonly unresolved: number
  readonly commitSequence: number
  readonly bytes: number
  readonly walBytes: number
  readonly freeBytes: number
  readonly floor: string
  readonly floors: readonly { readonly prefix: string; readonly floor: string }[]
}

export interface ConfigAnswer {
  readonly file?: string
  readonly config: object
  readonly warnings: readonly string[]
  readonly lastReload?: {
    readonly atMs: number
    readonly cause: string
    readonly result: string
    readonly message?: string
  }
}
