/** Prometheus as one process on a free port, which scrapes a sidecar each second and evaluates the chart's rules. */
import fs from 'node:fs'
import path from 'node:path'
import { stringify } from 'yaml'
import { temporaryDirectory } from '../support/sidecar.ts'
import { until } from '../support/wait.ts'
import { freePort, startServer } from './server-process.ts'

/** A series of an instant or a range query. */
export interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly number[]
}

export interface EvaluatedRule {
  readonly name: string
  readonly health: string
  readonly lastError?: string
  readonly alerts?: readonly { readonly state: string }[]
}

interface RawSeries {
  readonly metric: Record<string, string>
  readonly value?: [number, string]
  readonly values?: [number, string][]
}

export class PrometheusServer {
  readonly url: string

  private constructor(url: string) {
    this.url = url
  }

  static async start(job: string, target: string, rules: string): Promise<PrometheusServer> {
    const directory = temporaryDirectory()
    const file = path.join(directory, 'prometheus.yml')
    const configuration = {
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [rules],
      scrape_configs: [{ job_name: job, static_configs: [{ targets: [target] }] }],
    }
    fs.writeFileSync(file, stringify(configuration))
    const address = `127.0.0.1:${await freePort()}`
    const flags = {
      'config.file': file,
      'storage.tsdb.path': path.join(directory, 'data'),
      'web.listen-address': address,
      'log.level': 'warn',
    }
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
    await startServer('prometheus', args, () =>
      fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    return new PrometheusServer(`http://${address}`)
  }

  async query(query: string): Promise<Series[]> {
    const { result } = await this.#ask<{ result: RawSeries[] }>('query', { query })
    return result.map(seriesOf)
  }

  /** The last `seconds`, a value each second. */
  async range(query: string, seconds: number): Promise<Series[]> {
    const end = Date.now() / 1000
    const span = { start: String(end - seconds), end: String(end), step: '1' }
    const { result } = await this.#ask<{ result: RawSeries[] }>('query_range', { query, ...span })
    return result.map(seriesOf)
  }

  /** Whether a scraped series is there, as `name{matchers}` says. */
  async has(selector: string): Promise<boolean> {
    return (await this.#ask<unknown[]>('series', { 'match[]': selector })).length > 0
  }

  async labelValues(label: string, selector: string): Promise<string[]> {
    return this.#ask<string[]>(`label/${label}/values`, { 'match[]': selector })
  }

  async rules(): Promise<EvaluatedRule[]> {
    const { groups } = await this.#ask<{ groups: { rules: EvaluatedRule[] }[] }>('rules', {})
    return groups.flatMap(({ rules }) => rules)
  }

  /** Resolves once `count` more scrapes than now are stored. */
  async scraped(count: number): Promise<void> {
    const scrapes = async () => (await this.query('sum(count_over_time(up[1h]))'))[0]?.values[0] ?? 0
    const before = await scrapes()
    await until(async () => (await scrapes()) >= before + count, `${count} more scrapes`, 30_000)
  }

  async #ask<T>(what: string, parameters: Record<string, string>): Promise<T> {
    const answer = await fetch(`${this.url}/api/v1/${what}?${new URLSearchParams(parameters)}`)
    const { data, error } = (await answer.json()) as { data: T; error?: string }
    if (error !== undefined) throw new Error(`${error}, asked for ${JSON.stringify(parameters)}`)
    return data
  }
}

function seriesOf({ metric, value, values = value ? [value] : [] }: RawSeries): Series {
  return { metric, values: values.map(([, text]) => Number(text.replace('Inf', 'Infinity'))) }
}
