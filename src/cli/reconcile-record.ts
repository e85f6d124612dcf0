/**
 * Reads a task's operations and attempts from the running sidecar. All of them are in memory at once, since an attempt
 * may be of any operation before it: about 0.7 KB each (`npm run bench -- --only reconcile`).
 */
import type { ListedAttempt, ListedOperation } from '../journal/operations.ts'
import { type Attempt, Reconciliation } from '../journal/reconcile.ts'
import type { Token } from '../token.ts'
import type { Endpoint } from './endpoint.ts'
import { recordPages } from './record-pages.ts'

/** As it comes from the sidecar, with the token as a string. */
type Row = Omit<ListedAttempt, 'token'> & { readonly token?: string }

export async function readReconciliation(endpoint: Endpoint, task: string): Promise<Reconciliation> {
  const reconciliation = new Reconciliation()
  for await (const page of recordPages<ListedOperation>(endpoint, 'operations', { task })) {
    for (const { scope, key, providerKey, state } of page) {
      // Where they are equal, one string is kept.
      const told = providerKey === key ? key : providerKey
      reconciliation.addOperation({ scope: shared(scope), key, providerKey: told, state })
    }
  }
  for await (const page of recordPages<Row>(endpoint, 'attempts', { task })) {
    for (const row of page) {
      reconciliation.addAttempt(row.operation.scope, row.operation.key, attemptOf(row))
    }
  }
  return reconciliation
}

function attemptOf(row: Row): Attempt {
  return {
    id: row.id,
    token: row.token === undefined ? undefined : tokenOf(row.token),
    holder: shared(row.holder),
    route: shared(row.route),
    method: shared(row.method),
    target: shared(row.target),
    atMs: row.atMs,
    outcome: shared(row.outcome),
    status: row.status,
    final: row.final,
    reason: shared(row.reason),
    resolution: shared(row.resolution),
  }
}

/** Beyond these, texts are kept each for itself: they are of a kind that does not repeat. */
const MAX_SHARED = 10_000
const texts = new Map<string, string>()
const tokens = new Map<string, Token>()

/** The same string for the same text: a million attempts have few methods, routes and holders. */
function shared<T extends string | undefined>(text: T): T {
  if (text === undefined) return text
  const known = texts.get(text)
  if (known === undefined && texts.size < MAX_SHARED) texts.set(text, text)
  return (known ?? text) as T
}

function tokenOf(text: string): Token {
  const token = tokens.get(text) ?? BigInt(text)
  if (tokens.size < MAX_SHARED) tokens.set(text, token)
  return token
}
