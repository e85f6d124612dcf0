/** What a run has covered, and where the sidecar and the strict reader differ without harm. */
import { isOwn, type Run } from './judge.ts'
import { rulingOn } from './rules.ts'

export interface Difference {
  count: number
  /** The number of an input that shows it. */
  readonly example: number
}

export class Tally {
  inputs = 0
  honest = 0
  /** Requests that the strict reader sees. */
  seen = 0
  /** Requests that reached the resource whole. */
  forwarded = 0
  /** Answers of the sidecar's own. */
  refused = 0
  /** Connections whose bytes the strict reader gave up on. */
  invalid = 0
  readonly differences = new Map<string, Difference>()

  add(run: Run): void {
    this.inputs++
    if (run.input.honest) this.honest++
    for (const { stream, conversation, arrived } of run.lines) {
      this.seen += stream.requests.length
      this.forwarded += [...arrived.values()].filter(({ request }) => request.whole).length
      this.refused += conversation.answers.filter(isOwn).length
      conversation.answers.forEach((answer, i) => {
        const request = stream.requests[i]
        if (!isOwn(answer) || !request) return
        const { may } = rulingOn(request)
        if (may !== 'never') this.#note(`valid, and refused: ${codeOf(answer.fields)}`, run)
      })
      const { rest } = stream
      if (rest.kind !== 'invalid') continue
      this.invalid++
      const answer = conversation.answers[stream.requests.length]
      const told = answer ? (isOwn(answer) ? codeOf(answer.fields) : String(answer.status)) : 'no answer'
      if (told !== 'malformed-request') this.#note(`${rest.why}: ${told}`, run)
    }
  }

  #note(what: string, { index }: Run): void {
    const known = this.differences.get(what)
    if (known) known.count++
    else this.differences.set(what, { count: 1, example: index })
  }

  toString(): string {
    const { inputs, honest, seen, forwarded, refused, invalid } = this
    return JSON.stringify({ inputs, honest, seen, forwarded, refused, invalid })
  }
}

function codeOf(fields: readonly (readonly [string, string])[]): string {
  const status = fields.find(([name]) => name.toLowerCase() === 'proxy-status')?.[1] ?? ''
  return /details="([^"]+)"/.exec(status)?.[1] ?? status
}
