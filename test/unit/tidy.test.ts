/**
 * The repository keeps its own rules: the module table of ARCHITECTURE.md, the size of files, an opening
 * comment in each, declared dependencies, and nothing of one machine in what others will read.
 */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { importsOf, packageOf, ROOT, sourceFiles } from '../support/sources.ts'

const src = sourceFiles('src', '.ts').map((file) => ({ ...file, path: file.path.slice('src/'.length) }))
const test = sourceFiles('test', '.ts')
const manifest = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))

/** A file of `src`, and one that it imports, both from `src`. */
interface Edge {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}

const edges: Edge[] = src.flatMap((file) =>
  importsOf(file).flatMap(({ file: to, typeOnly }) =>
    to === undefined ? [] : [{ from: file.path, to, typeOnly }],
  ),
)

/** The folder, or a root file itself. */
const partOf = (file: string) => (file.includes('/') ? file.slice(0, file.indexOf('/') + 1) : file)

const WORDS = ['token.ts', 'errors.ts', 'clock.ts']
const SHARED = [...WORDS, 'version.ts']

/** Part: what it may import besides itself. A name with `types ` before it may be imported as types only. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'token.ts': [],
  'errors.ts': [],
  'clock.ts': [],
  'version.ts': [],
  'config/': SHARED,
  'request/': [...SHARED, 'types config/config.ts'],
  'gate/': [...SHARED, 'store/mark-store.ts', 'journal/'],
  'store/': [...SHARED, 'journal/'],
  'journal/': SHARED,
  'tracing/': SHARED,
  'metrics/': [...SHARED, 'types tracing/'],
  'proxy/': [...SHARED, 'request/', 'gate/', 'metrics/', 'tracing/', 'journal/', 'types config/config.ts'],
  'admin/': [
    ...SHARED,
    'gate/act-error.ts',
    'store/mark-store.ts',
    'metrics/',
    'journal/',
    ...['types gate/', 'types store/', 'types config/config.ts'],
  ],
  'sidecar.ts': [
    ...SHARED,
    'config/',
    'gate/',
    'store/',
    'journal/',
    'metrics/',
    'tracing/',
    'proxy/',
    'admin/',
  ],
  'cli/': [...SHARED, 'sidecar.ts', 'config/', 'store/store-file.ts', 'journal/', 'demo/'],
  'main.ts': [...SHARED, 'cli/'],
  'demo/': [],
}

describe('modules', () => {
  it('are all in the table, here and in ARCHITECTURE.md', () => {
    const parts = [...new Set(src.map((file) => partOf(file.path)))]
    const known = Object.keys(MAY_IMPORT)
    expect(parts.filter((part) => !known.includes(part))).toEqual([])
    const architecture = fs.readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8')
    const table = architecture.slice(architecture.indexOf('## Modules'))
    const names = [...table.matchAll(/`([\w/. -]+)`/g)].flatMap(([, name = '']) => name.split(' '))
    expect(parts.filter((part) => part !== 'version.ts' && !names.includes(part))).toEqual([])
  })

  it('import only what the table lets them', () => {
    const permitted = ({ from, to, typeOnly }: Edge) => {
      if (partOf(from) === partOf(to)) return true
      const may = MAY_IMPORT[partOf(from)] ?? []
      const named = (prefix: string) => may.includes(prefix + to) || may.includes(prefix + partOf(to))
      return named('') || (typeOnly && named('types '))
    }
    const wrong = edges.filter((edge) => !permitted(edge))
    expect(wrong.map(({ from, to }) => `${from} must not import ${to}`)).toEqual([])
  })

  it('name the concrete store and the composition root in one place each', () => {
    const importers = (of: string) => edges.filter(({ to }) => to === of).map(({ from }) => from)
    expect(importers('store/sqlite-mark-store.ts')).toEqual(['sidecar.ts'])
    expect(importers('sidecar.ts').filter((from) => !/^(cli\/|main\.ts$)/.test(from))).toEqual([])
  })

  it('form no cycle', () => {
    const needs = new Map<string, Set<string>>()
    for (const { from, to } of edges) {
      if (partOf(from) === partOf(to)) continue
      needs.set(partOf(from), (needs.get(partOf(from)) ?? new Set()).add(partOf(to)))
    }
    const cycleFrom = (part: string, path: readonly string[]): readonly string[] | undefined => {
      if (path.includes(part)) return [...path, part]
      for (const next of needs.get(part) ?? []) {
        const cycle = cycleFrom(next, [...path, part])
        if (cycle) return cycle
      }
      return undefined
    }
    expect([...needs.keys()].map((part) => cycleFrom(part, [])).find(Boolean)).toBeUndefined()
  })

  it('exist where they are imported', () => {
    const paths = new Set(src.map((file) => file.path))
    expect(edges.filter(({ to }) => !paths.has(to))).toEqual([])
  })
})

describe('files', () => {
  it('have 400 lines at most', () => {
    const long = [...src, ...test].filter(({ lines }) => lines > 400)
    expect(long.map((file) => `${file.path}: ${file.lines}`)).toEqual([])
  })

  it('have under 150 lines in four of five cases', () => {
    const long = src.filter(({ lines }) => lines >= 150)
    expect(long.length / src.length).toBeLessThanOrEqual(0.2)
  })

  it('open with a comment', () => {
    const silent = src.filter(({ text }) => !/^(#!.*\n)?\s*\/[*/]/.test(text))
    expect(silent.map((file) => file.path)).toEqual([])
  })

  it('put nothing off', () => {
    const open = [...src, ...test].filter(({ text }) => /\b(TOD[O]|FIXM[E]|X{3})\b/.test(text))
    expect(open.map((file) => file.path)).toEqual([])
  })

  it('say nothing of the machine they were written on', () => {
    const local = sourceFiles().filter(({ path: file, text }) => {
      const anywhere = /(?<![\w.*-])\/(work|root)\//
      const inProduct = /(?<![\w.*-])\/tmp\//
      return anywhere.test(text) || (!file.startsWith('test/') && inProduct.test(text))
    })
    expect(local.map((file) => file.path)).toEqual([])
  })
})

describe('dependencies', () => {
  const packages = (files: readonly { path: string; text: string }[]) =>
    new Set(files.flatMap((file) => importsOf(file).flatMap(({ specifier }) => packageOf(specifier) ?? [])))
  const declared = Object.keys(manifest.dependencies)

  it('are declared: those of the product as such, those of tests as either', () => {
    const development = [...declared, ...Object.keys(manifest.devDependencies)]
    expect([...packages(src)].filter((name) => !declared.includes(name))).toEqual([])
    expect([...packages(test)].filter((name) => !development.includes(name))).toEqual([])
  })

  it('are used', () => {
    const used = packages(src)
    expect(declared.filter((name) => !used.has(name))).toEqual([])
  })

  it('are pinned to one version each', () => {
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([])
  })

  it('are locked by their hash, wherever they come from', () => {
    const lock = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8'))
    const locked = Object.entries<{ resolved?: string; integrity?: string }>(lock.packages)
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
    expect(locked.filter(([name, { integrity }]) => name !== '' && !integrity)).toEqual([])
  })
})

describe('the reading of imports', () => {
  it('sees each form, and tells types from values', () => {
    const text = [
      "import fs from 'node:fs'",
      "import type { A } from './a.ts'",
      "import { type B, type C } from '../b.ts'",
      "import d, { type D } from './d.ts'",
      "import {\n  one,\n  two,\n} from '@scope/name/deep'",
      "export * from './e.ts'",
      "import './f.ts'",
      "const g = await import('./g.ts')",
    ].join('\n')
    expect(
      importsOf({ path: 'src/gate/x.ts', text }).map(({ specifier, file, typeOnly }) => [
        file ?? packageOf(specifier),
        typeOnly,
      ]),
    ).toEqual([
      [undefined, false],
      ['src/gate/a.ts', true],
      ['src/b.ts', true],
      ['src/gate/d.ts', false],
      ['@scope/name', false],
      ['src/gate/e.ts', false],
      ['src/gate/f.ts', false],
      ['src/gate/g.ts', false],
    ])
  })
})
