/**
 * Path templates of routes: `/settlements/{task}/*`.
 *
 * A template is literal segments, compared case-sensitively; at most one `{task}`, which stands for one whole
 * non-empty segment; and perhaps a final `*`, which stands for all that follows its slash, even nothing. So
 * it comes down to a prefix, a task and a suffix, and matching one makes no new strings. Anything else is a
 * fault in `config/`, and so are literals that some reading of a path changes: no request could match those.
 */
const TASK = '{task}'

export class PathTemplate {
  readonly #prefix: string
  readonly #namesTask: boolean
  /** What follows the task. */
  readonly #suffix: string
  /** Whether anything may follow the last literal. */
  readonly #open: boolean

  /** Takes a template that `config/` has accepted. */
  constructor(template: string) {
    this.#open = template.endsWith('/*')
    const literal = this.#open ? template.slice(0, -1) : template
    const at = literal.indexOf(TASK)
    this.#namesTask = at >= 0
    this.#prefix = this.#namesTask ? literal.slice(0, at) : literal
    this.#suffix = this.#namesTask ? literal.slice(at + TASK.length) : ''
  }

  matches(path: string): boolean {
    if (!path.startsWith(this.#prefix)) return false
    let at = this.#prefix.length
    if (this.#namesTask) {
      const end = segmentEnd(path, at)
      if (end === at || !path.startsWith(this.#suffix, end)) return false
      at = end + this.#suffix.length
    }
    return this.#open || at === path.length
  }

  /** The task in a path that matches; `undefined` if the template names none. */
  taskIn(path: string): string | undefined {
    if (!this.#namesTask) return undefined
    const at = this.#prefix.length
    return path.slice(at, segmentEnd(path, at))
  }
}

function segmentEnd(path: string, from: number): number {
  const slash = path.indexOf('/', from)
  return slash < 0 ? path.length : slash
}
