/** Attempts side by side: a line for each operation, and a column for each token that it was attempted with. */
import { type Attempt, isDoubtful, type ReconciledOperation } from '../journal/reconcile.ts'
import type { Token } from '../token.ts'
import type { Columns } from './listing.ts'

/** More tokens than that share one column. */
const MAX_TOKEN_COLUMNS = 6

export const stateOf = ({ verdict, byTwoHolders }: ReconciledOperation) =>
  byTwoHolders ? `${verdict}, two holders` : verdict

export function sideBySide(operations: readonly ReconciledOperation[]): Columns<ReconciledOperation> {
  const tokens = tokensOf(operations)
  const named = operations.some(({ key, providerKey }) => key !== providerKey)
  const scoped = operations.some(({ scope }) => scope !== operations[0]?.scope)
  const ofToken = (token: Token | undefined) => (operation: ReconciledOperation) =>
    joined(operation.attempts.filter((attempt) => attempt.token === token).map(outcomeOf))
  const inOne = ({ attempts }: ReconciledOperation) =>
    joined(attempts.map((attempt) => `${titleOf(attempt.token)}: ${outcomeOf(attempt)}`))
  return {
    OPERATION: ({ key }) => key,
    ...(named && { 'PROVIDER KEY': ({ providerKey }: ReconciledOperation) => providerKey }),
    ...(scoped && { SCOPE: ({ scope }: ReconciledOperation) => scope }),
    STATE: stateOf,
    ...(tokens.length <= MAX_TOKEN_COLUMNS
      ? Object.fromEntries(tokens.map((token) => [titleOf(token), ofToken(token)]))
      : { ATTEMPTS: inOne }),
  }
}

/** In their order; that there was none comes last. */
function tokensOf(operations: readonly ReconciledOperation[]): (Token | undefined)[] {
  const tokens = new Set<Token | undefined>()
  for (const { attempts } of operations) for (const { token } of attempts) tokens.add(token)
  // Whatever the comparison, `sort` puts what is undefined last.
  return [...tokens].sort((a, b) => ((a as Token) < (b as Token) ? -1 : 1))
}

function titleOf(token: Token | undefined): string {
  return token === undefined ? 'NO TOKEN' : `TOKEN ${token}`
}

/** What is said again and again is said once, with its number: a worker may have been told 503 for a whole night. */
function joined(texts: readonly string[]): string {
  const runs: { text: string; count: number }[] = []
  for (const text of texts) {
    const last = runs.at(-1)
    if (last?.text === text) last.count++
    else runs.push({ text, count: 1 })
  }
  return runs.map(({ text, count }) => (count === 1 ? text : `${text}, ${count} times`)).join('; ')
}

/** In words; with the id where somebody has to find out. */
function outcomeOf(attempt: Attempt): string {
  const { outcome, status, final, reason, resolution, id } = attempt
  if (outcome === 'answered') return `answered ${status}${final ? '' : ', not final'}`
  if (outcome === 'not-sent') return 'not sent'
  if (outcome === 'open') return 'open'
  return `unknown (${reason})${isDoubtful(attempt) ? ` ${id}` : `, found ${resolution}`}`
}
