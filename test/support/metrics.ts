/** A scrape in the Prometheus text format, read for tests. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g

export class Metrics {
  readonly samples: readonly Sample[]

  constructor(text: string) {
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    this.samples = lines.map((line) => {
      const [, name, labels, value] = SAMPLE.exec(line) ?? []
      if (name === undefined || value === undefined) throw new Error(`not a sample: ${line}`)
      const pairs = [...(labels ?? '').matchAll(LABEL)].map(([, key, text]) => [key, text])
      return { name, labels: Object.fromEntries(pairs), value: Number(value) }
    })
  }

  /** The sum of the samples with this name and these labels; 0 if there are none. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.samples
      .filter((sample) => sample.name === name)
      .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
      .reduce((sum, { value }) => sum + value, 0)
  }

  has(name: string): boolean {
    return this.samples.some((sample) => sample.name === name)
  }
}
