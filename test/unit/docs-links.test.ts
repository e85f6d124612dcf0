/** Every link of every page leads somewhere: to a file of the repository, to a heading of it, or to a whole URL. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { readPage } from '../support/markdown.ts'
import { ROOT, sourceFiles } from '../support/sources.ts'

const pages = new Map(sourceFiles('.', '.md').map(({ path: file, text }) => [file, readPage(text)]))

/** What is wrong with a link, if anything is. */
function fault(from: string, target: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return external(target)
  const [file = '', anchor] = target.split('#')
  const to = file === '' ? from : path.posix.join(path.posix.dirname(from), decodeURIComponent(file))
  if (to.startsWith('..')) return 'leads out of the repository'
  if (file.startsWith('/')) return 'starts at the root of whatever shows it'
  if (!fs.existsSync(path.join(ROOT, to))) return 'no such file'
  if (anchor === undefined) return undefined
  const page = pages.get(to)
  if (!page) return 'has an anchor, and is no page'
  return page.anchors.has(anchor) ? undefined : `${to} has no such heading`
}

/** Nothing is fetched: its form is looked at. */
function external(target: string): string | undefined {
  if (/^mailto:[^@\s]+@[^@\s]+$/.test(target)) return undefined
  const url = URL.parse(target)
  if (!url) return 'no URL'
  if (url.protocol !== 'https:') return `is ${url.protocol} instead of https:`
  return url.hostname.includes('.') ? undefined : 'names no host of the internet'
}

describe('links', () => {
  it('lead somewhere', () => {
    const faults = [...pages].flatMap(([from, { links }]) =>
      links.flatMap(({ target, line }) => {
        const what = fault(from, target)
        return what === undefined ? [] : [`${from}:${line}: ${target}: ${what}`]
      }),
    )
    expect(faults).toEqual([])
    expect([...pages.values()].flatMap(({ links }) => links).length).toBeGreaterThan(50)
  })

  it('lead from the index to every page of docs', () => {
    const index = pages.get('docs/README.md')
    const linked = index?.links.map(({ target }) => path.posix.join('docs', target.split('#')[0] as string))
    const own = [...pages.keys()].filter((file) => file.startsWith('docs/') && file !== 'docs/README.md')
    expect(own.filter((file) => !file.startsWith('docs/runbooks/') && !linked?.includes(file))).toEqual([])
  })
})

describe('the reading of pages', () => {
  const page = readPage(
    [
      '# A `code` heading, and [a link](x.md)!',
      '# Same',
      '## Same',
      'See [one](a.md#b "title"), ![two](b.png), `[no](c.md)`, <https://d.example/>.',
      '[three]: e.md',
      '```sh norun',
      '# no heading, [no](f.md)',
      '```',
      '1. in a list',
      '   ```yaml',
      '   a:',
      '     b: 1',
      '   ```',
    ].join('\n'),
  )

  it('finds links outside code', () => {
    expect(page.links.map(({ target }) => target)).toEqual([
      'x.md',
      ...['a.md#b', 'b.png', 'https://d.example/'],
      'e.md',
    ])
  })

  it('makes anchors as they are made where pages are shown', () => {
    expect([...page.anchors]).toEqual(['a-code-heading-and-a-link', 'same', 'same-1'])
  })

  it('finds fences with their words, indented or not', () => {
    expect(page.fences).toEqual([
      { language: 'sh', words: ['norun'], text: '# no heading, [no](f.md)\n', line: 7 },
      { language: 'yaml', words: [], text: 'a:\n  b: 1\n', line: 11 },
    ])
  })

  it('sees what is wrong with a link', () => {
    const faults = ['no.md', 'README.md#no', '../x', 'http://a.example/', 'https://localhost/', 'README.md']
    expect(faults.map((target) => fault('README.md', target) !== undefined)).toEqual([
      ...[true, true, true, true, true],
      false,
    ])
  })
})
