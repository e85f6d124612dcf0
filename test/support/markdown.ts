/** Markdown pages read by machine: their headings, links and fenced blocks. As much of the language as the pages use. */

export interface Fence {
  /** The first word of the info string. */
  readonly language: string
  /** The other words of it. */
  readonly words: readonly string[]
  readonly text: string
  /** Of its first line of text, from 1. */
  readonly line: number
}

export interface Link {
  readonly target: string
  readonly line: number
}

export interface Page {
  readonly fences: readonly Fence[]
  readonly links: readonly Link[]
  /** What a link can name after "#". */
  readonly anchors: ReadonlySet<string>
}

const FENCE = /^( *)(`{3,}|~{3,})(.*)$/

export function readPage(text: string): Page {
  const fences: Fence[] = []
  const links: Link[] = []
  const headings: string[] = []
  let open: { indent: string; mark: string; info: string; line: number; lines: string[] } | undefined
  text.split('\n').forEach((line, index) => {
    const [, indent = '', mark = '', info = ''] = FENCE.exec(line) ?? []
    if (open) {
      if (mark.startsWith(open.mark) && info.trim() === '') {
        fences.push(fenceOf(open))
        open = undefined
      } else open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line.trimStart())
    } else if (mark !== '') {
      open = { indent, mark, info, line: index + 2, lines: [] }
    } else {
      const heading = /^#{1,6} +(.*?)(?: +#+)?$/.exec(line)?.[1]
      if (heading !== undefined) headings.push(heading)
      links.push(...linksIn(line).map((target) => ({ target, line: index + 1 })))
    }
  })
  if (open) throw new Error(`the fence at line ${open.line - 1} is not closed`)
  return { fences, links, anchors: anchorsOf(headings) }
}

function fenceOf({ info, lines, line }: { info: string; lines: readonly string[]; line: number }): Fence {
  const [language = '', ...words] = info.trim().split(/\s+/)
  return { language, words, text: lines.map((each) => `${each}\n`).join(''), line }
}

/** Inline links and images, and the definitions of those by reference. Code is left out. */
function linksIn(line: string): string[] {
  const text = line.replace(/(`+).*?\1/g, (code) => 'x'.repeat(code.length))
  const inline = [...text.matchAll(/\]\(\s*<?([^\s)>]*)>?(?:\s+"[^"]*")?\s*\)/g)]
  const definitions = [...text.matchAll(/^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/g)]
  const bare = [...text.matchAll(/<(https?:[^>\s]*)>/g)]
  return [...inline, ...definitions, ...bare].map(([, target = '']) => target)
}

/** As GitHub makes them; of headings with the same words the later ones are numbered. */
function anchorsOf(headings: readonly string[]): Set<string> {
  const anchors = new Set<string>()
  for (const heading of headings) {
    const words = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/(?<!\w)_([^_]+)_(?!\w)/g, '$1')
    const slug = words
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  return anchors
}
