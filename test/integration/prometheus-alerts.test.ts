/**
 * The alerts, by promtool: the rules are valid, each alert fires when its test says and not otherwise, and each test
 * fails without its alert, or if the alert does not wait.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { temporaryDirectory } from '../support/temporary.ts'
import { alertNames, alerts, pageOf, RULES_FILE, type Rule, rules } from './alert-rules.ts'
import { promtool } from './promtool.ts'

const TESTS = path.join(import.meta.dirname, 'alerts')

test('the rules are valid', async () => {
  const { code, output } = await promtool('check', 'rules', '--lint=all', '--lint-fatal', RULES_FILE)
  expect(output).toContain('SUCCESS')
  expect(code).toBe(0)
})

test('every alert has a severity, a summary, a description and a page', () => {
  for (const { alert, labels, annotations } of alerts) {
    expect(labels, alert).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) })
    expect(annotations, alert).toEqual({
      summary: expect.stringMatching(/^[A-Z].*[^.]$/),
      description: expect.stringMatching(/\.$/),
      runbook_url: `docs/runbooks/${pageOf(alert as string)}.md`,
    })
  }
})

test('no two alerts are the same one', () => {
  const names = alerts.map(({ alert, labels }) => `${alert} ${labels?.severity}`)
  expect(names).toEqual([...new Set(names)])
})

test('every alert has a test, and every test an alert', () => {
  expect(fs.readdirSync(TESTS).sort()).toEqual(alertNames.map((name) => `${pageOf(name)}.yaml`).sort())
})

test.each(alertNames)('%s fires when it should, and not otherwise', async (name) => {
  const { code, output } = await promtool('test', 'rules', path.join(TESTS, `${pageOf(name)}.yaml`))
  expect(output).toContain('SUCCESS')
  expect(code).toBe(0)
})

const named = alerts.map((rule) => [rule.alert as string, rule.labels?.severity as string, rule] as const)

test.each(named)('the test of %s fails without that of severity %s', async (name, _severity, rule) => {
  const { code, output } = await promtool('test', 'rules', testWith(name, rule, []))
  expect(output).toContain(name)
  expect(code).toBe(1)
})

test.each(named.filter(([, , rule]) => rule.for))(
  'the test of %s fails if that of severity %s fires at once',
  async (name, _severity, rule) => {
    const { for: _, ...atOnce } = rule
    const { code, output } = await promtool('test', 'rules', testWith(name, rule, [atOnce]))
    expect(output).toContain(name)
    expect(code).toBe(1)
  },
)

/** The test of an alert on rules in which `rule` is replaced. Other alerts are left out, which saves time. */
function testWith(name: string, rule: Rule, replacement: readonly Rule[]): string {
  const kept = rules.filter(({ alert }) => alert === undefined || alert === name)
  const changed = kept.flatMap((each) => (each === rule ? replacement : [each]))
  const directory = temporaryDirectory()
  fs.writeFileSync(
    path.join(directory, 'rules.yaml'),
    stringify({ groups: [{ name: 'changed', rules: changed }] }),
  )
  const text = fs.readFileSync(path.join(TESTS, `${pageOf(name)}.yaml`), 'utf8')
  const file = path.join(directory, 'test.yaml')
  fs.writeFileSync(file, text.replace(/^rule_files: .*$/m, 'rule_files: [rules.yaml]'))
  return file
}
