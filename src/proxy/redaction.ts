/**
 * Takes values out of a JSON body before it is kept: each that a JSON pointer (RFC 6901) leads to is replaced with the
 * string "[redacted]".
 *
 * Invariants: every other byte stays as it was, numbers, spaces and order included; of a key that is given twice each
 * value is replaced; with anything to take out, what is not valid JSON is never passed on.
 */

const REPLACEMENT = '"[redacted]"'

/** Where pointers lead. One that ends here makes what they lead to beyond it of no account. */
interface Branch {
  ends: boolean
  readonly branches: Map<string, Branch>
}

/** The body to keep; `undefined` if it is not JSON, so that nobody can say where in it the values are. */
export function redacted(body: Uint8Array, pointers: readonly string[]): Uint8Array | undefined {
  if (pointers.length === 0 || body.byteLength === 0) return body
  const text = jsonText(body)
  if (text === undefined) return undefined
  const kept: string[] = []
  let from = 0
  for (const { start, end } of new Scanner(text).spans(treeOf(pointers))) {
    kept.push(text.slice(from, start), REPLACEMENT)
    from = end
  }
  return Buffer.from(kept.join('') + text.slice(from))
}

/** RFC 8259, section 8.1: UTF-8, without a byte order mark. */
function jsonText(body: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    JSON.parse(text)
    return text
  } catch {
    return undefined
  }
}

function treeOf(pointers: readonly string[]): Branch {
  const root: Branch = { ends: false, branches: new Map() }
  for (const pointer of pointers) {
    let branch = root
    for (const name of pointer.split('/').slice(1).map(unescaped)) {
      const next = branch.branches.get(name) ?? { ends: false, branches: new Map() }
      branch.branches.set(name, next)
      branch = next
    }
    branch.ends = true
  }
  return root
}

/** RFC 6901, section 4. */
function unescaped(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Walks through valid JSON. Goes only as deep as the pointers do; what is deeper is passed over in a loop. */
class Scanner {
  readonly #text: string
  #at = 0
  readonly #found: Span[] = []

  constructor(text: string) {
    this.#text = text
  }

  spans(tree: Branch): readonly Span[] {
    this.#value(tree)
    return this.#found
  }

  #value(branch: Branch | undefined): void {
    const first = this.#next()
    const start = this.#at
    if (branch && !branch.ends && first === '{') this.#object(branch)
    else if (branch && !branch.ends && first === '[') this.#array(branch)
    else this.#pass()
    if (branch?.ends) this.#found.push({ start, end: this.#at })
  }

  #object({ branches }: Branch): void {
    this.#at++
    while (this.#next() !== '}') {
      if (this.#text[this.#at] === ',') this.#at++
      this.#next()
      const key = this.#at
      this.#string()
      // The same name can be spelt with escapes.
      const name: string = JSON.parse(this.#text.slice(key, this.#at))
      this.#next()
      this.#at++ // The colon.
      this.#value(branches.get(name))
    }
    this.#at++
  }

  #array({ branches }: Branch): void {
    this.#at++
    for (let index = 0; this.#next() !== ']'; index++) {
      if (this.#text[this.#at] === ',') this.#at++
      this.#value(branches.get(String(index)))
    }
    this.#at++
  }

  /** Passes over a whole value, whatever is in it. */
  #pass(): void {
    let depth = 0
    do {
      const first = this.#text[this.#at] as string
      if (first === '"') this.#string()
      else if ('{['.includes(first)) {
        depth++
        this.#at++
      } else if ('}]'.includes(first)) {
        depth--
        this.#at++
      } else if (depth > 0) this.#at++
      else this.#literal()
    } while (depth > 0)
  }

  #string(): void {
    for (this.#at++; this.#text[this.#at] !== '"'; this.#at++) {
      if (this.#text[this.#at] === '\\') this.#at++
    }
    this.#at++
  }

  /** A number, `true`, `false` or `null`. */
  #literal(): void {
    while (/[-+.\w]/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  /** The next character that is no space; it stays unread. */
  #next(): string {
    while (' \t\r\n'.includes(this.#text[this.#at] as string)) this.#at++
    return this.#text[this.#at] as string
  }
}
