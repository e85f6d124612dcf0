/** Completion as the shells do it: bash always, the others where they are installed. */
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { bashScript } from '../../src/cli/completion/bash.ts'
import { fishScript } from '../../src/cli/completion/fish.ts'
import { treeOf } from '../../src/cli/completion/tree.ts'
import { zshScript } from '../../src/cli/completion/zsh.ts'
import { makeProgram } from '../../src/cli/program.ts'
import { temporaryDirectory } from '../support/temporary.ts'

vi.setConfig({ testTimeout: 30_000 })

const tree = treeOf(makeProgram(() => {}))

/** The script in a directory with a few files. */
function sceneOf(script: string): string {
  const directory = temporaryDirectory()
  fs.writeFileSync(path.join(directory, 'script'), script)
  fs.writeFileSync(path.join(directory, 'my file.db'), '')
  fs.mkdirSync(path.join(directory, 'my-data'))
  return directory
}

/** For bash, each line in words; the last one is to be completed. What it would offer, by line. */
function completedByBash(lines: readonly (readonly string[])[]): string[][] {
  const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ')
  // The function is called by the name that is registered, with the words that readline would give.
  const script = [
    'source ./script',
    'set -- $(complete -p fencegate); complete=$3',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
    'offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "$complete"; printf "%s|" "${COMPREPLY[@]}"; echo; }',
    ...lines.map((words) => `offer fencegate ${quoted(words)}`),
  ]
  const output = execFileSync('bash', ['--norc', '-c', script.join('\n')], {
    cwd: sceneOf(bashScript(tree)),
    encoding: 'utf8',
  })
  return output
    .trimEnd()
    .split('\n')
    .map((line) => line.split('|').filter((word) => word !== ''))
}

test('bash: commands, options, their words, files and arguments', () => {
  const cases: readonly (readonly [words: readonly string[], offered: readonly string[]])[] = [
    [['ta'], ['tasks', 'task']],
    [['--v'], ['--version']],
    [
      ['journal', '--fo'],
      ['--format', '--follow'],
    ],
    [
      ['journal', '--format', ''],
      ['table', 'jsonl', 'csv'],
    ],
    [
      ['journal', '--format', '='],
      ['table', 'jsonl', 'csv'],
    ],
    [['journal', '--format', '=', 'js'], ['jsonl']],
    [['journal', '--format', 'csv', '--k'], ['--kind']],
    [['journal', '--task', '--format', '--la'], ['--last']],
    [['journal', '--task', 'j'], []],
    [['resolve', 'id', '--as', 'not'], ['not-applied']],
    [
      ['backup', 'my'],
      ['my file.db', 'my-data'],
    ],
    [
      ['backup', '--reason', 'why', 'my'],
      ['my file.db', 'my-data'],
    ],
    [['backup', 'done.db', 'my'], []],
    [['status', '--data', 'my'], ['my-data']],
    [
      ['status', '--token-file', 'my'],
      ['my file.db', 'my-data'],
    ],
    [['completion', 'z'], ['zsh']],
    [['help', 'rec'], ['reconcile']],
    [['freeze', ''], []],
    [['nonsense', '--'], []],
  ]
  const offered = completedByBash(cases.map(([words]) => words))
  expect(offered.map((words, i) => [cases[i]?.[0], words])).toEqual(cases)
})

test('every command and option is in each script', () => {
  for (const script of [bashScript(tree), zshScript(tree), fishScript(tree)]) {
    for (const { name, options } of tree.commands) {
      expect(script).toContain(name)
      for (const { flags } of options) expect(script).toContain(flags.at(-1)?.slice(2))
    }
  }
  expect(tree.commands.length).toBeGreaterThan(20)
})

const lacks = (shell: string) => spawnSync(shell, ['-c', 'exit']).error !== undefined

test.skipIf(lacks('zsh'))('zsh takes the script, and offers what it should', () => {
  const script = String.raw`
    zmodload zsh/zpty && zpty z zsh -f -i
    zpty -w z 'PS1="> "; autoload -U compinit; compinit -u -D; source ./script; bindkey "^I" complete-word; echo REA""DY'
    zpty -r z out '*READY*'
    for line in 'journal --format js' 'retire --idl' 'backup my\ f' 'completi' 'completion f'; do
      zpty -w -n z "fencegate $line"$'\t\n'
    done
    zpty -w z 'echo DO""NE'
    zpty -r z out '*DONE*'
    print -r -- $out`
  const { stdout } = spawnSync('zsh', ['-f', '-c', script], {
    cwd: sceneOf(zshScript(tree)),
    encoding: 'utf8',
    timeout: 20_000,
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's output
  const text = stdout.replace(/\x1b\[[0-9;?]*[A-Za-z]|.\x08/g, '')
  for (const line of [
    'journal --format jsonl',
    'retire --idle',
    'backup my\\ file.db',
    'completion',
    'completion fish',
  ]) {
    expect(text).toContain(`fencegate ${line} `)
  }
})

test.skipIf(lacks('fish'))('fish takes the script, and offers what it should', () => {
  const offered = (line: string) => {
    const command = `source ./script; complete -C '${line}'`
    const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', command], {
      cwd: sceneOf(fishScript(tree)),
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    return stdout.split('\n').map((line) => line.split('\t')[0])
  }
  expect(offered('fencegate journ')).toContain('journal')
  expect(offered('fencegate journal --fo')).toEqual(expect.arrayContaining(['--format', '--follow']))
  expect(offered('fencegate journal --format ')).toEqual(expect.arrayContaining(['csv', 'jsonl', 'table']))
  expect(offered('fencegate completion z')).toContain('zsh')
  expect(offered('fencegate backup my')).toContain('my file.db')
  expect(offered('fencegate status --data my')).toEqual(['my-data/', ''])
})
