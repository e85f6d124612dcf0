/** How the API shows what the sidecar holds: tokens as strings, ages in whole milliseconds, what is unknown left out. */
import type { ActResult } from '../gate/task-state.ts'
import type { BusyTask, OpenWrite } from '../gate/view.ts'
import type { ListedTask } from '../journal/queries.ts'
import type { Mark } from '../store/mark-store.ts'
import type { Token } from '../token.ts'

export function shownToken<T extends { readonly token: Token | undefined }>(row: T) {
  return { ...row, token: row.token?.toString() }
}

export function shownOpen(writes: readonly OpenWrite[]) {
  return writes.map(({ admission: { claim, facts }, ageMs }) => ({
    ...facts,
    token: claim.token.toString(),
    holder: claim.holder,
    ageMs: Math.round(ageMs),
  }))
}

export function shownTask({ token, ...listed }: ListedTask, busy: BusyTask | undefined) {
  const { handover } = busy ?? {}
  return {
    ...listed,
    mark: token.toString(),
    openWrites: busy?.openWrites ?? 0,
    oldestOpenWriteMs: rounded(busy?.oldestOpenWriteMs),
    handover: handover && { waitedMs: rounded(handover.waitedMs) },
  }
}

/** What an act leaves. */
export function shownResult(task: string, { record: { mark, frozen }, open }: ActResult) {
  return { task, mark: mark.token.toString(), frozen, passes: passes(mark), open: shownOpen(open) }
}

/** The lowest token that passes, once the task is thawed. */
export function passes({ token }: Pick<Mark, 'token'>): string {
  return (token > 0n ? token : 1n).toString()
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms)
}
