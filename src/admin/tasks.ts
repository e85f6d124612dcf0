/** Tasks: all of them by name, those that are busy or frozen, and what there is to know of one. */
import type { FastifyInstance } from 'fastify'
import Type, { type Static } from 'typebox'
import type { BusyTask, GateView } from '../gate/view.ts'
import type { ListedEntry } from '../journal/entries.ts'
import type { ListedTask, Page } from '../journal/queries.ts'
import type { MarkStore } from '../store/mark-store.ts'
import * as s from './schemas.ts'
import { passes, shownOpen, shownTask, shownToken } from './shown.ts'
import { inTime, requireRunning, type Sources } from './sources.ts'

const properties = {
  task: s.text('its name'),
  mark: s.tokenOut,
  recorded: s.flag('whether it has a mark of its own; if not, mark is its floor'),
  complete: s.flag('whether its last handover is over'),
  holder: s.optional(s.text('the first holder that named itself with the token of the mark')),
  frozen: s.flag('whether all of its writes are refused'),
  usedAtMs: s.optional(s.ms('when the mark was last used, wall clock')),
  openWrites: s.count('writes that are open'),
  oldestOpenWriteMs: s.optional(s.ms('for how long the oldest one has been open')),
  handover: s.optional(
    s.object({ waitedMs: s.optional(s.ms('since the raise, if that was in this process')) }, 'in progress'),
  ),
}

const TasksQuery = s.object({
  search: s.optional(s.text('a part of the name, 1 to 256 characters', 256)),
  state: s.optional(Type.Enum(['open', 'pending', 'frozen'], { description: 'open, pending or frozen' })),
  limit: s.limit,
  after: s.optional(s.task),
})
const Tasks = s.object({
  tasks: s.list(s.object(properties)),
  next: s.optional(s.text('`after` of the page that follows')),
})
const OneTask = s.object({
  ...properties,
  passes: s.tokenOut,
  open: s.list(s.OpenWrite),
  held: s.list(
    s.object({
      id: s.text('of the unknown write'),
      token: s.tokenOut,
      operation: s.optional(s.text('the id of its operation')),
    }),
  ),
  rejections: s.list(s.Entry),
})

const REJECTIONS = 20
/** The journal of a busy sidecar may have none of this task for a long way back. */
const MAX_PAGES = 5

export function addTaskRoutes(on: FastifyInstance, sources: Sources): void {
  const { clock } = sources
  on.get<{ Querystring: Static<typeof TasksQuery> }>(
    '/v1/tasks',
    {
      schema: {
        summary: 'Tasks by name',
        tags: ['tasks'],
        querystring: TasksQuery,
        response: s.answers(Tasks),
      },
    },
    async ({ query }) => {
      const running = requireRunning(sources)
      const { rows, next } = await inTime(clock, list(running, query))
      return { tasks: rows, next }
    },
  )
  on.get<{ Params: Static<typeof s.TaskParams> }>(
    '/v1/tasks/:task',
    {
      schema: {
        summary: 'One task, whether it has a mark or not',
        tags: ['tasks'],
        params: s.TaskParams,
        response: s.answers(OneTask),
      },
    },
    async ({ params: { task } }) => {
      const { store, view } = requireRunning(sources)
      const [{ mark, frozen, held }, used, rejections] = await inTime(
        clock,
        Promise.all([store.load(task), usedAtMs(store, task), lastRejections(store, task)]),
      )
      return {
        ...shownTask({ ...mark, task, frozen, usedAtMs: used }, view.task(task)),
        passes: passes(mark),
        open: shownOpen(view.open(task)),
        held: held.map(shownToken),
        rejections,
      }
    },
  )
}

type Listing = { readonly store: MarkStore; readonly view: GateView }

async function list({ store, view }: Listing, { state, after = '', ...query }: Static<typeof TasksQuery>) {
  const busy = new Map(view.busy().map((each) => [each.task, each]))
  const { rows, next } =
    state === 'open' || state === 'pending'
      ? await listBusy(store, [...busy.values()].filter(isIn(state)), { after, ...query })
      : await store.tasks({ after, ...query, ...(state === 'frozen' && { frozen: true }) })
  return { rows: rows.map((row) => shownTask(row, busy.get(row.task))), next }
}

const isIn = (state: 'open' | 'pending') => (task: BusyTask) =>
  state === 'open' ? task.openWrites > 0 : task.handover !== undefined

/** Those are in memory, but their marks, if idle otherwise, may be on the disk alone. */
async function listBusy(
  store: MarkStore,
  busy: readonly BusyTask[],
  { search = '', after, limit }: { search?: string; after: string; limit: number },
): Promise<Page<ListedTask, string>> {
  const names = busy.map(({ task }) => task).filter((task) => task.includes(search) && task > after)
  const page = names.sort().slice(0, limit)
  const rows = await Promise.all(
    page.map(async (task) => {
      const { mark, frozen } = await store.load(task)
      return { ...mark, task, frozen, usedAtMs: undefined }
    }),
  )
  return { rows, next: names.length > limit ? page.at(-1) : undefined }
}

/** Of the newest ones, as many as are found within a bounded look. */
async function lastRejections(store: MarkStore, task: string) {
  const found: ListedEntry[] = []
  let after: number | undefined = 0
  for (let pages = 0; pages < MAX_PAGES && after !== undefined && found.length < REJECTIONS; pages++) {
    const limit = REJECTIONS - found.length
    const page: Page<ListedEntry> = await store.journal({
      task,
      kind: 'rejection',
      order: 'newest',
      limit,
      after,
    })
    found.push(...page.rows)
    after = page.next
  }
  return found.map(shownToken)
}

/** The listing is the one that knows; its first row behind the name right before this one is this one, if it is there. */
async function usedAtMs(store: MarkStore, task: string): Promise<number | undefined> {
  const { rows } = await store.tasks({ after: nameBefore(task), limit: 1 })
  return rows[0]?.task === task ? rows[0].usedAtMs : undefined
}

/** The greatest text of 256 visible characters at most that sorts before this one. */
function nameBefore(task: string): string {
  const head = task.slice(0, -1)
  const last = task.charCodeAt(task.length - 1)
  if (last === 0x21) return head
  return (head + String.fromCharCode(last - 1)).padEnd(256, '~')
}
