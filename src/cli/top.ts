/** `fencegate top`: what goes on at the sidecar, live in the terminal. */
import type { Command } from 'commander'
import { ValueFault } from '../config/faults.ts'
import { parseDuration } from '../config/values.ts'
import { EXIT, ExitError } from '../errors.ts'
import { addControlOptions, type ControlOptions, show } from './control.ts'
import { type Endpoint, endpointOf } from './endpoint.ts'
import { Alarm, pause, untilInterrupted } from './interrupt.ts'
import { named } from './numbers.ts'
import type { Ends } from './program.ts'
import { look } from './top/sample.ts'
import { maxScroll, render, type Size } from './top/screen.ts'
import { firstState, lost, pressed, seen, type TopState } from './top/state.ts'
import { Terminal } from './top/terminal.ts'

type Options = ControlOptions & { readonly interval: string; readonly once?: true }

const MIN_INTERVAL_MS = 200
const FILE_SIZE: Size = { columns: 160, rows: Infinity }

const EXAMPLES = `
Keys: q quit, p pause, up and down (or k and j) choose a task or a rejection, Enter shows its task, Esc goes back.
A sidecar that goes away is asked again until it is back. Colours are left out where NO_COLOR is set.

Where the output is no terminal, and with --once or --json, it looks twice, an interval apart, prints that and ends.

Exit codes: 0 ended with q or by a signal, 64 bad usage or refused, 69 the sidecar can't be asked at the start.

Examples:
  fencegate top
  fencegate top --interval 5s --server http://127.0.0.1:8471
  fencegate top --once
  fencegate top --json`

export function addTop(program: Command, ends: Ends): void {
  addControlOptions(program.command('top'))
    .description('Watch decisions, rejections, open writes and handovers, live.')
    .option('--interval <duration>', 'how often to look', '1s')
    .option('--once', 'print one state and end')
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options) => {
      const intervalMs = named('--interval', () => intervalOf(options.interval))
      const endpoint = endpointOf(options)
      const isLive = process.stdout.isTTY && process.stdin.isTTY && process.env.TERM !== 'dumb'
      if (isLive && !options.once && !options.json) await live(endpoint, intervalMs)
      else await once(endpoint, intervalMs, options.json)
      ends(EXIT.ok)
    })
}

function intervalOf(text: string): number {
  const ms = parseDuration(text)
  if (ms >= MIN_INTERVAL_MS) return ms
  throw new ValueFault(`${text} is too short: write at least ${MIN_INTERVAL_MS}ms`)
}

async function once(endpoint: Endpoint, intervalMs: number, json: true | undefined): Promise<void> {
  await untilInterrupted(async (signal) => {
    const first = firstState(endpoint.name, await look(endpoint, undefined, undefined))
    await pause(intervalMs, signal)
    if (signal.aborted) return
    const state = seen(first, await look(endpoint, undefined, first.sample))
    const { status, tasks, rejections } = state.sample
    const columns = process.stdout.columns ?? FILE_SIZE.columns
    await show(json, { rates: state.rates, status, tasks, rejections }, () =>
      render(state, { ...FILE_SIZE, columns }, false),
    )
  })
}

async function live(endpoint: Endpoint, intervalMs: number): Promise<void> {
  // Before the screen is taken: if there is no sidecar, that is a message and an exit code, as everywhere.
  let state = firstState(endpoint.name, await look(endpoint, undefined, undefined))
  const colour = !process.env.NO_COLOR
  const quit = new AbortController()
  const alarm = new Alarm()
  const change = (next: TopState) => {
    state = next
    terminal.draw(render(state, terminal.size, colour))
  }
  const terminal = new Terminal(process.stdin, process.stdout, {
    key: (key) => {
      if (key === 'quit' || (key === 'leave' && state.page === undefined)) return quit.abort()
      const before = state
      change(pressed(state, key === 'leave' ? 'back' : key, maxScroll(state, terminal.size)))
      if (state.page?.task !== before.page?.task || (before.paused && !state.paused)) alarm.ring()
    },
    redraw: () => change(state),
    gone: () => quit.abort(),
  })
  await untilInterrupted(async (signal) => {
    signal.addEventListener('abort', () => quit.abort())
    quit.signal.addEventListener('abort', () => alarm.ring())
    terminal.open()
    try {
      change(state)
      while (!quit.signal.aborted) {
        await alarm.wait(intervalMs)
        if (quit.signal.aborted) return
        const asked = state.page?.task
        if (state.paused && asked === state.sample.page?.task) continue
        change(await looked(endpoint, () => state))
      }
    } finally {
      terminal.close()
    }
  })
}

/** Keys may have changed the state while the sidecar was asked. */
async function looked(endpoint: Endpoint, state: () => TopState): Promise<TopState> {
  try {
    const { page, sample } = state()
    const next = await look(endpoint, page?.task, sample)
    return seen(state(), next)
  } catch (error) {
    if (!(error instanceof ExitError) || error.exitCode !== EXIT.unavailable) throw error
    return lost(state(), error.message, performance.now())
  }
}
