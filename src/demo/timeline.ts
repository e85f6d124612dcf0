/**
 * The timeline: what happened, when and to whom. Lines for a person as they happen, or kept for the JSON
 * document. A line never exceeds 100 columns, and is coloured only on a terminal that wants colour.
 */
import { styleText } from 'node:util'

const WIDTH = 100

export type ActorName = 'demo' | 'ledger' | 'authority' | 'sidecar' | 'A' | 'B'
export type Tone = 'plain' | 'good' | 'bad' | 'strong' | 'faint'

const STYLES = { good: 'green', bad: 'red', strong: 'bold', faint: 'dim' } as const

export interface TimelineEvent {
  /** Milliseconds since the demo began. */
  readonly atMs: number
  readonly run: string
  readonly actor: ActorName
  /** A stable name of what happened. */
  readonly event: string
  readonly text: string
  readonly [fact: string]: unknown
}

interface Entry {
  readonly actor: ActorName
  readonly event: string
  readonly text: string
  readonly tone?: Tone
  /** For machines. */
  readonly facts?: object
}

export class Timeline {
  readonly events: TimelineEvent[] = []
  readonly #print: ((line: string) => void) | undefined
  readonly #colour: boolean
  readonly #start = performance.now()
  #run = ''

  /** @param print takes each line; `undefined` for a timeline that is only kept. */
  constructor(print: ((line: string) => void) | undefined, colour: boolean) {
    this.#print = print
    this.#colour = colour
  }

  get elapsedMs(): number {
    return Math.round(performance.now() - this.#start)
  }

  /** Begins a run, under a heading. */
  begin(run: string, heading: string): void {
    this.#run = run
    this.say('')
    this.say(heading, 'strong')
  }

  add({ actor, event, text, tone = 'plain', facts = {} }: Entry): void {
    const atMs = this.elapsedMs
    this.events.push({ atMs, run: this.#run, actor, event, text, ...facts })
    const margin = `${(atMs / 1000).toFixed(3).padStart(7)} s  ${actor.padEnd(9)}  `
    for (const [index, line] of wrap(text, WIDTH - margin.length).entries()) {
      this.#print?.((index === 0 ? margin : ' '.repeat(margin.length)) + this.#paint(line, tone))
    }
  }

  /** Text that is no event. */
  say(text: string, tone: Tone = 'plain'): void {
    for (const line of wrap(text, WIDTH)) this.#print?.(this.#paint(line, tone))
  }

  #paint(line: string, tone: Tone): string {
    if (!this.#colour || tone === 'plain' || line === '') return line
    return styleText(STYLES[tone], line, { validateStream: false })
  }
}

/** Whether the stream is a terminal whose user has not asked for none: https://no-color.org. */
export function wantsColour(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): boolean {
  return stream.isTTY === true && !env.NO_COLOR
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
