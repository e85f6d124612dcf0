/** The chart's Prometheus rules, as the tests read them. */
import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'

export const ROOT = path.join(import.meta.dirname, '../..')
export const RULES_FILE = path.join(ROOT, 'charts/fencegate/files/alerts.yaml')

export interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}

const ruleFile: RuleFile = parse(fs.readFileSync(RULES_FILE, 'utf8'))
export const rules: readonly Rule[] = ruleFile.groups.flatMap((group) => group.rules)
export const alerts: readonly Rule[] = rules.filter(({ alert }) => alert !== undefined)
/** Each once, although some come in two severities. */
export const alertNames: readonly string[] = [...new Set(alerts.map(({ alert }) => alert as string))]

/** `FencegateStaleRejections` has the page and the test `stale-rejections`. */
export function pageOf(alert: string): string {
  return alert
    .replace(/^Fencegate/, '')
    .replace(/(?<!^)[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase()
}

const SELECTOR = /\b((?:fencegate|process|nodejs)_\w+|up)\b(\{[^}]*\})?/g

/** What an expression asks of scraped series: names, each with its matchers. */
export function selectorsOf(expr: string): string[] {
  return [...expr.matchAll(SELECTOR)].map(([, name, matchers = '']) => `${name}${matchers}`)
}
