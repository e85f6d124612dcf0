/** `top` without a terminal: what a look tells, what keys do, what fits on which screen; and one state printed. */
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry, Status, Task } from '../../src/cli/api.ts'
import { run } from '../../src/cli/program.ts'
import { keysIn } from '../../src/cli/top/keys.ts'
import { look, ratesBetween, type Sample } from '../../src/cli/top/sample.ts'
import { maxScroll, render } from '../../src/cli/top/screen.ts'
import { firstState, type Key, lost, pressed, rowsOf, seen, type TopState } from '../../src/cli/top/state.ts'
import { answering } from '../support/answering-socket.ts'
import { captureOutput } from '../support/captured-output.ts'

const AT = Date.UTC(2026, 10, 30, 2, 0, 0)

const status = (more: Partial<Status> = {}): Status => ({
  ...{ version: '0.1.0', phase: 'serving', grace: false, startedAtMs: AT, nowMs: AT + 60_000 },
  ...{ openWrites: 1, oldestOpenWriteMs: 3100, handoversPending: 1, tasks: 9, frozen: 1, unresolved: 2 },
  ...{ commitSequence: 1, streams: 0, staleRejections: 4, raises: 5, commits: { count: 2, sumMs: 4 } },
  ...{ decisions: [{ route: 'r', decision: 'forwarded', count: 10 }], upstreams: [] },
  ...more,
})
const task = (name: string, more: Partial<Task> = {}): Task => ({
  ...{ task: name, mark: '51', recorded: true, complete: true, frozen: false, openWrites: 0 },
  ...more,
})
const rejection = (seq: number, more: object = {}): Entry => ({
  ...{ seq, atMs: AT, kind: 'rejection', task: `t-${seq}`, token: '50' },
  data: { code: 'stale-token', highest: '51', client: '10.0.0.1', userAgent: 'curl/8', count: 1, ...more },
})
const sample = (more: Partial<Sample> = {}): Sample => ({
  ...{ atMs: 1000, status: status(), tasks: [], rejections: [], page: undefined },
  ...more,
})
const TASKS = [task('a', { openWrites: 2, oldestOpenWriteMs: 3100 }), task('b', { frozen: true })]
const state = (more: Partial<Sample> = {}) =>
  firstState('sock', sample({ tasks: TASKS, rejections: [rejection(7), rejection(6)], ...more }))
const press = (from: TopState, ...keys: Key[]) =>
  keys.reduce((now, key) => pressed(now, key, maxScroll(now, { columns: 80, rows: 24 })), from)

test('rates are those between two looks at one process', () => {
  const before = sample()
  const after = sample({
    atMs: 3000,
    status: status({
      ...{ staleRejections: 5, raises: 9, commits: { count: 6, sumMs: 24 } },
      decisions: [
        { route: 'r', decision: 'forwarded', count: 20 },
        { route: 's', decision: 'stale-token', count: 1 },
      ],
    }),
  })
  expect(ratesBetween(before, after)).toEqual({ decisions: 5.5, stale: 0.5, raises: 2, commitMs: 5 })
  expect(ratesBetween(before, sample({ atMs: 3000 }))?.commitMs).toBeUndefined()
  const restarted = sample({ atMs: 3000, status: status({ startedAtMs: AT + 1 }) })
  expect(ratesBetween(before, restarted)).toBeUndefined()
})

test('the screen of 100 columns', () => {
  expect(render(press(state(), 'down', 'down'), { columns: 100, rows: 14 }, false)).toEqual([
    'fencegate 0.1.0 at sock   serving   up 1 min',
    'decisions/s -   stale/s -   raises/s -',
    'open writes 1, oldest 3.1 s   handovers 1   frozen 1   unknown 2   stale 4   tasks 9',
    'TASKS with open writes, the oldest first; waiting; frozen',
    '  a  mark 51  open 2  3.1 s',
    '  b  mark 51                 frozen',
    '',
    'REJECTIONS, the latest first',
    '> 02:00:00  t-7  50 < 51  10.0.0.1  curl/8',
    '  02:00:00  t-6  50 < 51  10.0.0.1  curl/8',
    'q quit  p pause  up/down choose  Enter task',
  ])
})

test('the screen of 40 columns, with a stale write a second and a long name', () => {
  const next = sample({
    ...{
      atMs: 2000,
      status: status({ staleRejections: 5 }),
      tasks: [task('x'.repeat(99), { openWrites: 1 })],
    },
    rejections: [rejection(8, { code: 'token-conflict', highest: '50', count: 3, userAgent: 'né\u001b[2J' })],
  })
  expect(render(seen(state(), next), { columns: 40, rows: 30 }, false)).toEqual([
    'fencegate 0.1.0 at sock   serving',
    'up 1 min',
    'decisions/s 0.0   stale/s 1.0',
    'raises/s 0.0',
    'open writes 1, oldest 3.1 s',
    'handovers 1   frozen 1   unknown 2',
    'stale 4   tasks 9'.replace('4', '5'),
    'TASKS with open writes, the oldest firs~',
    `> ${'x'.repeat(12)}~  mark 51  open 1`,
    '',
    'REJECTIONS, the latest first',
    '  02:00:00  t-8  50 = 50  x3  token-con~',
    'q quit  p pause  up/down choose  Enter ~',
  ])
})

test('a sidecar that is gone keeps its last state on the screen, and says so; then goes on', () => {
  const gone = lost(
    lost(seen(state(), sample({ atMs: 2000 })), 'no sidecar answers', 4000),
    'still none',
    9500,
  )
  expect(render(gone, { columns: 80, rows: 20 }, false)).toEqual(
    expect.arrayContaining([
      'decisions/s -   stale/s -   raises/s -',
      'No newer look for 7.5 s, asking again: still none',
    ]),
  )
  expect(render(seen(gone, sample({ atMs: 10_000 })), { columns: 80, rows: 20 }, false).join()).not.toContain(
    'asking again',
  )
})

test('colour adds to the characters, and takes no place', () => {
  const stale = seen(state(), sample({ atMs: 2000, status: status({ staleRejections: 9 }), tasks: TASKS }))
  const size = { columns: 80, rows: 24 }
  const coloured = render(stale, size, true)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(coloured.map((line) => line.replace(/\x1b\[\d*m/g, ''))).toEqual(render(stale, size, false))
  expect(coloured).toContain('\x1b[31mdecisions/s 0.0   stale/s 5.0   raises/s 0.0\x1b[0m')
})

describe('keys', () => {
  test('from what a terminal sends', () => {
    expect(keysIn('\x1b[A\x1bOBkj\r\x1bpq\x03\x1a\x1b[5~\x1b[6~\x1b[Cx\x1b[24~\x1b[1;5R')).toEqual(
      ['up', 'down', 'up', 'down', 'enter', 'back', 'pause', 'leave', 'quit', 'suspend'].concat(
        ...['page-up', 'page-down', 'enter'],
      ),
    )
  })

  test('choose a row, which stays chosen where it moves to, and the first one once it is gone', () => {
    const second = press(state(), 'up', 'down')
    expect(second.chosen).toBe('task b')
    const moved = seen(second, sample({ tasks: [task('c'), task('a'), task('b')] }))
    expect(press(moved, 'up').chosen).toBe('task a')
    expect(press(seen(second, sample({ tasks: [task('c'), task('d')] })), 'down').chosen).toBe('task d')
    expect(press(state(), 'page-down', 'down').chosen).toBe('rejection 6')
    expect(press(firstState('s', sample()), 'down', 'enter', 'up').chosen).toBeUndefined()
  })

  test('open the page of a task or of a rejection’s task, scroll in it and go back', () => {
    expect(press(state(), 'down', 'enter').page).toEqual({ task: 'b', scroll: 0 })
    const open = press(state(), 'down', 'down', 'enter')
    expect(open.page).toEqual({ task: 't-7', scroll: 0 })
    expect(render(open, { columns: 80, rows: 24 }, false)).toContain('asking ...')
    const writes = Array.from({ length: 40 }, (_, i) => ({
      ...{ route: 'r', method: 'PUT', target: `/${i}`, token: '51', ageMs: 10 },
    }))
    const page = { ...task('t-7'), passes: '51', open: writes, held: [], rejections: [] }
    const shown = seen(open, sample({ page }))
    expect(render(shown, { columns: 80, rows: 24 }, false)).toEqual(
      expect.arrayContaining(['task    t-7', '51     10 ms  r      PUT     /0']),
    )
    const down = press(shown, ...Array.from({ length: 9 }, () => 'page-down' as const))
    expect(render(down, { columns: 80, rows: 24 }, false).at(-2)).toBe('51     10 ms  r      PUT     /39')
    expect(render(press(down, 'up'), { columns: 80, rows: 24 }, false).at(-2)).toContain('/38')
    expect(press(down, 'back')).toMatchObject({ page: undefined, chosen: 'rejection 7' })
  })

  test('pause and go on', () => {
    const paused = press(state(), 'pause')
    expect(render(paused, { columns: 80, rows: 24 }, false)[0]).toContain('PAUSED')
    expect(press(paused, 'pause').paused).toBe(false)
  })
})

test('whatever the size and the state: no line too many, none too long, and what is chosen is on the screen', () => {
  const name = fc.string({ minLength: 1, maxLength: 40, unit: 'binary' })
  const states = fc.record({
    tasks: fc.uniqueArray(name, { maxLength: 30 }),
    rejections: fc.nat(30),
    keys: fc.array(fc.constantFrom<Key>('up', 'down', 'page-up', 'page-down', 'pause'), { maxLength: 20 }),
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 60 }),
    gone: fc.boolean(),
  })
  fc.assert(
    fc.property(states, ({ tasks, rejections, keys, columns, rows, gone }) => {
      const entries = Array.from({ length: rejections }, (_, i) => rejection(i, { userAgent: tasks[i] }))
      const begun = firstState(
        tasks[0] ?? 's',
        sample({ tasks: tasks.map((n) => task(n)), rejections: entries }),
      )
      const now = press(gone ? lost(begun, tasks.join(), 5000) : begun, ...keys)
      const lines = render(now, { columns, rows }, false)
      expect(lines.length).toBeLessThanOrEqual(rows)
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns)
      expect(lines.join('')).toMatch(/^[\x20-\x7e]*$/)
      const isRoomy = rows > 40 && columns > 40 && !gone
      if (isRoomy && rowsOf(now.sample).length > 0)
        expect(lines.some((line) => line.startsWith('> '))).toBe(true)
    }),
  )
})

const answers: Readonly<Record<string, object>> = {
  '/v1/status': status(),
  '/v1/tasks?state=open&limit=500': {
    tasks: [task('young', { openWrites: 1, oldestOpenWriteMs: 5 }), TASKS[0]],
  },
  '/v1/tasks?state=pending&limit=500': { tasks: [task('w', { handover: { waitedMs: 9 } }), TASKS[0]] },
  '/v1/tasks?state=frozen&limit=500': { tasks: [TASKS[1]] },
  '/v1/journal?kind=rejection&order=newest&limit=200': { journal: [rejection(7)] },
}

test('however many there are, what is kept of a look is bounded', async () => {
  const many = Array.from({ length: 1000 }, (_, i) => i)
  const { data } = await answering((req, res) => {
    const tasks = many.map((i) => task(`t-${i}`, { openWrites: 1, oldestOpenWriteMs: i }))
    const journal = many.map((i) => rejection(i))
    res.end(JSON.stringify(req.url === '/v1/status' ? status() : { tasks, journal }))
  })
  const endpoint = { kind: 'socket', name: path.join(data, 'control.sock') } as const
  const { tasks, rejections } = await look(endpoint, undefined, sample({ rejections: [rejection(5000)] }))
  expect(rejections.map(({ seq }) => seq)).toEqual([5000, ...many.slice(901).reverse()])
  expect([tasks.length, tasks[0]?.task]).toEqual([1000, 't-999'])
})

describe('without a terminal', () => {
  const output = captureOutput()
  const once = async (...args: string[]) => {
    const { data, asked } = await answering((req, res) => res.end(JSON.stringify(answers[req.url as string])))
    expect(await run(['top', '--interval', '200ms', ...args, '--data', data])).toBe(0)
    expect(new Set(asked)).toEqual(new Set(Object.keys(answers).map((target) => `GET ${target}`)))
    return output.stdout
  }

  test('one state is printed, whole', async () => {
    const lines = (await once()).split('\n')
    expect(lines[1]).toBe('decisions/s 0.0   stale/s 0.0   raises/s 0.0')
    expect(lines.slice(4, 8).map((line) => line.trim().split(' ')[0])).toEqual(['a', 'young', 'w', 'b'])
    expect(lines.at(-2)).toBe('  02:00:00  t-7  50 < 51  10.0.0.1  curl/8')
  })

  test('as one JSON document', async () => {
    expect(JSON.parse(await once('--json'))).toMatchObject({
      rates: { decisions: 0, stale: 0, raises: 0 },
      status: { version: '0.1.0' },
      tasks: [{ task: 'a' }, { task: 'young' }, { task: 'w' }, { task: 'b' }],
      rejections: [{ seq: 7 }],
    })
  })
})
