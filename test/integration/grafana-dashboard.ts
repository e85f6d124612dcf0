/** The chart's Grafana dashboard, as the tests read it: its panels' queries, with variables as Grafana sets them. */
import fs from 'node:fs'
import path from 'node:path'
import { ROOT } from './alert-rules.ts'

interface DataSource {
  readonly type: string
  readonly uid: string
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: DataSource
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly {
    readonly refId: string
    readonly expr: string
    readonly datasource: DataSource
  }[]
}

export interface Variable {
  readonly name: string
  readonly type: string
  readonly query: string | { readonly query: string }
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
}

export const dashboard: Dashboard = JSON.parse(
  fs.readFileSync(path.join(ROOT, 'charts/fencegate/files/grafana-dashboard.json'), 'utf8'),
)
/** Those that ask for something. */
export const panels: readonly Panel[] = dashboard.panels.filter(({ type }) => type !== 'row')

/** A query as Grafana sends it; throws if it names a variable that there isn't. */
export function substituted(query: string, values: Readonly<Record<string, string>>): string {
  return query.replace(/\$(\w+)/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`no variable ${name}, in ${query}`)
    return value
  })
}
