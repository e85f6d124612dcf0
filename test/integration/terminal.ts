/** A command in a terminal of its own, by `script` of util-linux: what is on its screen, its keys, its size, its end. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import path from 'node:path'
import { afterAll } from 'vitest'
import { Changes } from '../support/wait.ts'

const MAIN = path.join(import.meta.dirname, '../../src/main.ts')
const WAIT_MS = 30_000
const ENTER = '\x1b[?1049h'
const LEAVE = '\x1b[?1049l'

/** On SIGUSR2 the process meets a fault of its own. */
const FAULT = "data:text/javascript,process.on('SIGUSR2', () => { throw new Error('a bug') })"

const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

export class TerminalProcess {
  output = ''
  readonly changes = new Changes()
  readonly #child: ChildProcess

  /** Runs `fencegate` with these arguments on a screen of this size. */
  constructor(args: readonly string[], columns: number, rows: number, env: Record<string, string> = {}) {
    const command = [
      `stty cols ${columns} rows ${rows}; echo "TTY $(tty)"; echo "BEFORE $(stty -g)"`,
      `sh -c 'echo "PID $$"; exec "$0" "$@"' "$NODE" --import "$FAULT" "$MAIN" ${args.join(' ')}`,
      'code=$?; echo; echo "CODE $code"; echo "AFTER $(stty -g)"',
    ].join('\n')
    this.#child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      env: {
        PATH: process.env.PATH,
        TERM: 'xterm',
        SHELL: '/bin/sh',
        NODE: process.execPath,
        MAIN,
        FAULT,
        ...env,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    running.add(this.#child)
    this.#child.once('exit', () => running.delete(this.#child))
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
      this.changes.notify()
    })
  }

  /** What one of the lines says that the shell prints before and after the command. */
  said(what: 'TTY' | 'PID' | 'CODE' | 'BEFORE' | 'AFTER'): string | undefined {
    return new RegExp(`^${what} (\\S+)\\r?$`, 'm').exec(this.output)?.[1]
  }

  /** The lines that are on the screen: those of the last whole drawing. */
  get screen(): string[] {
    const end = this.output.lastIndexOf('\x1b[J')
    const start = this.output.lastIndexOf('\x1b[H', end)
    if (start === -1 || end === -1) return []
    return (
      this.output
        .slice(start, end)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
        .replace(/\x1b\[[\d;]*[A-Za-z]/g, '')
        .split(/\r*\n/)
    )
  }

  shows(text: string | RegExp): Promise<void> {
    const isThere = () =>
      this.screen.some((line) => (typeof text === 'string' ? line.includes(text) : text.test(line)))
    return this.changes.when(isThere, `"${text}" on the screen`, WAIT_MS)
  }

  type(keys: string): void {
    this.#child.stdin?.write(keys)
  }

  resize(columns: number, rows: number): void {
    execFileSync('stty', ['-F', this.said('TTY') as string, 'cols', String(columns), 'rows', String(rows)])
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(Number(this.said('PID')), signal)
  }

  /** Its exit code, whether the terminal is as before, and what came after the screen was left. */
  async ended(): Promise<{ code: string | undefined; isRestored: boolean; after: string }> {
    await this.changes.when(() => this.said('AFTER') !== undefined, 'the end of the command', WAIT_MS)
    const left = this.output.lastIndexOf(LEAVE)
    const isRestored =
      this.said('AFTER') === this.said('BEFORE') &&
      left > this.output.lastIndexOf(ENTER) &&
      this.output.lastIndexOf('\x1b[?25h') > this.output.lastIndexOf('\x1b[?25l') &&
      this.output.lastIndexOf('\x1b[?7h') > this.output.lastIndexOf('\x1b[?7l')
    return { code: this.said('CODE'), isRestored, after: this.output.slice(left + LEAVE.length) }
  }
}
