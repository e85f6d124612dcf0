/** The commands that show or do one thing: what they ask, what a person reads, and what a program gets. */
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { answering } from '../support/answering-socket.ts'
import { captureOutput } from '../support/captured-output.ts'

const output = captureOutput()
const AT = Date.UTC(2026, 10, 30, 2, 0, 0)
const TIME = '2026-11-30T02:00:00.000Z'

const STATUS = {
  ...{ version: '0.1.0', phase: 'serving', grace: true, startedAtMs: AT, nowMs: AT + 7_500_000 },
  ...{ openWrites: 2, oldestOpenWriteMs: 61_000, handoversPending: 1, tasks: 3, frozen: 1, unresolved: 2 },
  ...{ commitSequence: 9, streams: 0, staleRejections: 4, raises: 5, commits: { count: 4, sumMs: 10 } },
  decisions: [{ route: 'pay', decision: 'forwarded', count: 12 }],
  upstreams: [{ origin: 'http://127.0.0.1:9200', state: 'reachable\u001b[2J' }],
}
const TASK = { task: 'T', mark: '9', recorded: true, complete: false, frozen: true, openWrites: 0 }
const PAGE = {
  ...TASK,
  passes: '10',
  holder: 'w\u001b[31m',
  open: [{ route: 'pay', method: 'PUT', target: '/a', token: '8', ageMs: 1500, holder: 'w-1' }],
  held: [{ id: 'i-1', token: '7' }],
  rejections: [
    {
      ...{ seq: 3, atMs: AT, kind: 'rejection', task: 'T', token: '8' },
      data: { code: 'stale-token', highest: '9', count: 2, client: '10.0.0.1', userAgent: 'curl\u0007' },
    },
  ],
}
const ACT = { task: 'T', mark: '10', frozen: true, passes: '10', open: [] }
const RESET = { task: 'T', mark: '10', to: '3', confirm: 'c0de', expiresInMs: 300_000, warning: 'mind\u0007' }
const STORE = {
  ...{ path: 'd', schema: 3, createdAtMs: AT, created: false, unclean: true, tasks: 2, frozen: 0 },
  ...{ unresolved: 1, commitSequence: 7, bytes: 4096, walBytes: 100, freeBytes: 3 * 1024 ** 3, floor: '5' },
  floors: [{ prefix: 'daily-', floor: '41' }],
}
const CONFIG = {
  file: 'fencegate.yaml',
  config: { upstream: { auth: '(set)' } },
  warnings: ['short grace'],
  lastReload: { atMs: AT, cause: 'SIGHUP', result: 'refused', message: 'listen: is a list' },
}

const ANSWERS: Readonly<Record<string, object>> = {
  '/v1/status': STATUS,
  '/v1/tasks/T': PAGE,
  '/v1/tasks/T/fence': ACT,
  '/v1/store': STORE,
  '/v1/config': CONFIG,
  '/v1/journal': { journal: [] },
  '/v1/retire': { prefix: 'daily-', floor: '41', retired: 1 },
  '/v1/backup': { file: '/b\u0007.db', bytes: 2048, commitSequence: 7, ms: 12 },
}

/** Runs a command that must succeed on a sidecar that answers as above; gives what it printed and asked. */
async function printed(args: readonly string[], answers: Readonly<Record<string, object>> = ANSWERS) {
  const { data, asked } = await answering((req, res) => {
    res.end(JSON.stringify(answers[(req.url as string).replace(/\?.*/, '')]))
  })
  expect([await run([...args, '--data', data]), output.stderr]).toEqual([0, ''])
  const { stdout } = output
  output.stdout = ''
  // Nothing that others wrote may steer the terminal.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
  return { stdout, lines: stdout.split('\n'), asked }
}

test('status', async () => {
  expect((await printed(['status'])).lines).toEqual([
    'fencegate         0.1.0, serving, waiting out restartGrace',
    `started           ${TIME}, 2 h 5 min ago`,
    'upstream          http://127.0.0.1:9200 reachable?[2J',
    'tasks             3, 1 frozen',
    'open writes       2, the oldest for 1 min',
    'handovers         1 pending',
    'unknown           2 (see fencegate unknown)',
    'stale rejections  4',
    'raises            5',
    'commits           4, 2.5 ms each, sequence 9',
    '',
    'ROUTE  DECISION   COUNT',
    'pay    forwarded  12',
    '',
  ])
})

test('one task whole', async () => {
  expect((await printed(['task', 'T'])).lines).toEqual([
    'task    T',
    'mark    9',
    'holder  w?[31m',
    'state   frozen, handover not over',
    'passes  10 and above, once thawed',
    '',
    'Open writes:',
    'TOKEN  AGE    ROUTE  METHOD  TARGET  HOLDER  OPERATION',
    '8      1.5 s  pay    PUT     /a      w-1',
    '',
    'Held up by these unknown outcomes (see fencegate resolve):',
    'ID   TOKEN  OPERATION',
    'i-1  7',
    '',
    'Latest rejections:',
    'TIME                      TOKEN  HIGHEST  CODE         COUNT  CLIENT    AGENT',
    `${TIME}  8      9        stale-token  2      10.0.0.1  curl?`,
    '',
  ])
})

test('a task without a mark', async () => {
  const answer = { ...PAGE, recorded: false, mark: '5', frozen: false, open: [], held: [], rejections: [] }
  const { lines } = await printed(['task', 'T'], { '/v1/tasks/T': answer })
  expect(lines).toContain('mark    none: it starts at the floor 5')
  expect(lines).toContain('state   served')
})

test('store and configuration', async () => {
  expect((await printed(['store'])).lines).toEqual([
    'path              d',
    'schema            3',
    `created           ${TIME}`,
    'opened            after an unclean stop',
    'tasks             2, 0 frozen',
    'unknown outcomes  1',
    'commit sequence   7',
    'size              4.0 KiB, log 100 B, free on the disk 3.0 GiB',
    'floor             5',
    'floor of daily-*  41',
    '',
  ])
  expect((await printed(['config'])).stdout).toBe(
    `# file: fencegate.yaml\n# last reload: ${TIME}, SIGHUP, refused: listen: is a list\n# warning: short grace\n` +
      'upstream:\n  auth: (set)\n',
  )
})

test.each([
  ['status', '/v1/status'],
  ['task T', '/v1/tasks/T'],
  ['store', '/v1/store'],
  ['config', '/v1/config'],
  ['fence T --token 9 --reason why', '/v1/tasks/T/fence'],
  ['retire --prefix daily- --idle 30d --floor 41 --reason why', '/v1/retire'],
])('%s --json is the answer, as one document', async (command, route) => {
  const { data } = await answering((req, res) => res.end(JSON.stringify(ANSWERS[req.url as string])))
  expect(await run([...command.split(' '), '--json', '--data', data])).toBe(0)
  expect(output.stdout).toBe(`${JSON.stringify(ANSWERS[route])}\n`)
})

const FENCE = ['fence', 'T', '--reason', 'why', '--by', 'ana']
test('fence without a token takes the mark of this moment', async () => {
  const { lines, asked } = await printed(FENCE, { ...ANSWERS, '/v1/tasks/T': { ...PAGE, frozen: false } })
  expect(lines).toEqual([
    'T is frozen, and token 9 is fenced out: the mark is 10.',
    'Once thawed, 10 is the lowest token that passes.',
    'No write is open.',
    '',
  ])
  expect(asked).toEqual(['GET /v1/tasks/T', 'POST /v1/tasks/T/fence {"by":"ana","reason":"why","token":"9"}'])
})

const act = (data: object, token: string) => ({ journal: [{ seq: 1, atMs: AT, kind: 'act', token, data }] })
test.each([
  ['was fenced: a repeat names the same token', act({ act: 'fence' }, '9'), '8'],
  ['was only frozen', act({ act: 'freeze' }, '9'), '9'],
  ['was fenced, and raised since', act({ act: 'fence' }, '8'), '9'],
  ['was frozen before what the journal still has', { journal: [] }, '9'],
])('fence of a task that %s', async (_, journal, token) => {
  const { asked } = await printed(FENCE, { ...ANSWERS, '/v1/journal': journal })
  expect(asked.slice(1)).toEqual([
    'GET /v1/journal?task=T&kind=act&order=newest&limit=1',
    `POST /v1/tasks/T/fence {"by":"ana","reason":"why","token":"${token}"}`,
  ])
})

test('fence of a task without a mark: 64, and nothing is done', async () => {
  const { data, asked } = await answering((_, res) => res.end(JSON.stringify({ ...PAGE, recorded: false })))
  expect(await run([...FENCE, '--data', data])).toBe(64)
  expect(output.stderr).toContain(
    'no token of T is on record, so there is none to fence out: freeze it, or name',
  )
  expect(asked.length).toBe(1)
})

test('reset in two steps: the first one shows the command of the second', async () => {
  const reset = ['reset', 'T', '--to', '3', '--reason', "it's wrong", '--by', 'ana']
  const first = await printed(reset, { '/v1/tasks/T/reset': RESET })
  const { lines } = first
  expect(lines.slice(0, -2)).toEqual([
    'Nothing has changed yet. The mark of T would go from 10 down to 3.',
    '',
    'Warning: mind?',
    '',
    'To do it, within 5 min:',
  ])
  expect(lines.at(-2)).toMatch(
    /^ {2}fencegate reset T --to 3 --reason 'it'\\''s wrong' --by ana --confirm c0de --data \S+$/,
  )
  const answer = { ...ACT, mark: '3', passes: '3' }
  const second = await printed([...reset, '--confirm', 'c0de'], { '/v1/tasks/T/reset': answer })
  expect(second.lines).toEqual([
    'The mark of T is 3, on record as a break of P1. It is frozen still.',
    'Once thawed, 3 is the lowest token that passes.',
    '',
  ])
  expect([...first.asked, ...second.asked]).toEqual([
    'POST /v1/tasks/T/reset {"by":"ana","reason":"it\'s wrong","to":"3"}',
    'POST /v1/tasks/T/reset {"by":"ana","reason":"it\'s wrong","to":"3","confirm":"c0de"}',
  ])
})

test('retire and backup', async () => {
  const why = ['--reason', 'why', '--by', 'ana']
  const retire = await printed(['retire', '--prefix', 'daily-', '--idle', '30d', '--floor', '41', ...why])
  expect(retire.asked).toEqual([
    'POST /v1/retire {"by":"ana","reason":"why","prefix":"daily-","idleMs":2592000000,"floor":"41"}',
  ])
  expect(retire.lines).toEqual([
    '1 mark is retired.',
    'Tasks that begin with daily- and have no mark start at 41.',
    '',
  ])
  const backup = await printed(['backup', 'x/../b.db', ...why])
  expect(backup.asked).toEqual([
    `POST /v1/backup ${JSON.stringify({ by: 'ana', reason: 'why', file: path.resolve('b.db') })}`,
  ])
  expect(backup.stdout).toBe('Wrote /b?.db: 2.0 KiB in 12 ms, commit sequence 7.\n')
})

test.each([
  [['retire', '--prefix', 'p', '--idle', 'soon', '--floor', '1'], '--idle: "soon" is not a duration'],
  [['retire', '--prefix', 'p', '--idle', '1h', '--floor', '-1'], '--floor: "-1" is not a floor'],
  [['backup', 'b.db', '--server', 'http://127.0.0.1:1'], 'a backup is asked for over the socket only'],
  [['tasks', '--limit', '0'], '--limit: "0" is not a number of them: write 1 to 1000000'],
  [['tasks', '--all', '--limit', '5'], "'--all' cannot be used with option '--limit <n>'"],
  [['tasks', '--json', '--format', 'csv'], "'--json' cannot be used with option '--format <format>'"],
  [['tasks', '--state', 'busy'], 'Allowed choices are open, pending, frozen'],
  [['journal', '--last', '10001'], '--last: "10001" is not a number of them'],
  [['journal', '--kind', 'x'], 'Allowed choices are handover, rejection, act, resolved, dropped'],
  [['top', '--interval', '1ms'], '--interval: 1ms is too short: write at least 200ms'],
  [['reset', 'T'], "required option '--to <token>' not specified"],
  [['completion', 'tcsh'], 'Allowed choices are bash, zsh, fish'],
])('%j: 64', async ([name = '', ...args], message) => {
  const isAct = ['retire', 'backup', 'reset'].includes(name)
  expect(await run([name, ...args, ...(isAct ? ['--reason', 'why'] : [])])).toBe(64)
  expect([output.stdout, output.stderr]).toEqual(['', expect.stringContaining(message)])
})

test('a reader that wants no more, as head, is no failure', async () => {
  const { data } = await answering((_, res) => res.end(JSON.stringify(STATUS)))
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((_text, ...rest) => {
    const error = Object.assign(new Error('EPIPE'), { code: 'EPIPE' })
    process.nextTick(() => {
      ;(rest.at(-1) as (error: Error) => void)(error)
      process.stdout.emit('error', error)
    })
    return false
  })
  onTestFinished(() => write.mockRestore())
  expect([await run(['status', '--data', data]), output.stderr]).toEqual([0, ''])
})

const names = ['a', 'b', 'c', 'd', 'e']
/** Two tasks a page; the third page is empty and has a next one all the same. */
const PAGES: Readonly<Record<string, object>> = {
  '': { tasks: names.slice(0, 2).map((task) => ({ ...TASK, task })), next: 'b' },
  b: { tasks: names.slice(2, 4).map((task) => ({ ...TASK, task })), next: 'd' },
  d: { tasks: [], next: 'dd' },
  dd: { tasks: [{ ...TASK, task: 'e', recorded: false, handover: { waitedMs: 2000 }, usedAtMs: AT }] },
}

test.each([
  [['--all'], names, ''],
  [['--limit', '5'], names, ''],
  [['--limit', '4'], names.slice(0, 4), 'There are more than 4: see --search, --state, --limit and --all.\n'],
  [['--limit', '1'], ['a'], 'There are more than 1: see --search, --state, --limit and --all.\n'],
])('tasks %j, over pages by name', async (args, listed, message) => {
  const { data, asked } = await answering((req, res) => {
    const { searchParams } = new URL(req.url as string, 'http://sidecar')
    res.end(JSON.stringify(PAGES[searchParams.get('after') ?? '']))
  })
  expect(
    await run(['tasks', '--search', 'x&y', '--state', 'frozen', ...args, '--json', '--data', data]),
  ).toBe(0)
  const lines = output.stdout.split('\n').slice(0, -1)
  expect(lines.map((line) => JSON.parse(line).task)).toEqual(listed)
  expect(output.stderr).toBe(message)
  expect(asked[0]).toBe('GET /v1/tasks?limit=500&search=x%26y&state=frozen')
})

test('tasks as a table and as CSV', async () => {
  const last = { '/v1/tasks': PAGES.dd as object }
  expect((await printed(['tasks'], last)).lines).toEqual([
    'TASK  MARK       STATE                       OPEN  OLDEST  USED                      HOLDER',
    `e     9 (floor)  frozen, handover for 2.0 s  0             ${TIME}`,
    '',
  ])
  const { data } = await answering((_, res) => res.end(JSON.stringify(PAGES.dd)))
  expect(await run(['tasks', '--format', 'csv', '--data', data])).toBe(0)
  expect(output.stdout.split('\r\n')).toEqual([
    'task,mark,recorded,complete,holder,frozen,used_at,open_writes,oldest_open_write_ms,handover_waited_ms',
    `e,9,false,false,,true,${TIME},0,,2000`,
    '',
  ])
})
