/**
 * The chart as both versions of Helm render it, for several versions of Kubernetes and every set of values: linted strictly,
 * checked for unknown fields and wrong types against each version's API. The last test prints how much that was.
 */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { CHART, HELM_VERSIONS, Helm, type Manifest, only, VALUE_SETS } from '../support/helm.ts'
import { KubernetesModels, type ModelVersion } from '../support/kubernetes-models.ts'
import { requireSchema, typeFaults } from '../support/kubernetes-types.ts'
import { ROOT } from '../support/sources.ts'

/** The Kubernetes that is rendered for, and the newest API that is not newer, of those with a client. */
const VERSIONS: Readonly<Record<string, ModelVersion>> = {
  '1.27': '1.27',
  '1.29': '1.29',
  '1.31': '1.30',
  '1.33': '1.33',
  '1.35': '1.34',
}

const helms = HELM_VERSIONS.map((version) => ({ version, helm: new Helm(version) }))
const counts = { lints: 0, templates: 0, manifests: 0, checked: 0 }
/** Each manifest once, however often it was rendered. */
const distinct = new Map<string, Manifest>()

const unknownTo = (models: KubernetesModels, manifests: readonly Manifest[]) => {
  const builtIn = manifests.filter(({ apiVersion }) => !apiVersion.startsWith('monitoring.'))
  counts.checked += builtIn.length
  return builtIn.flatMap((manifest) => models.faults(manifest))
}

describe.each(helms)('Helm $version', ({ version, helm }) => {
  it('is the one that it is taken for', () => {
    expect(helm.run('version', '--short').stdout).toMatch(new RegExp(`^v${version}\\.`))
  })

  it.each(VALUE_SETS)('lints the values "$name" strictly', ({ file }) => {
    const { ok, stdout, stderr } = helm.run('lint', '--strict', CHART, '--values', file)
    expect(stdout + stderr).not.toMatch(/\[(WARNING|ERROR)\]/)
    expect(ok).toBe(true)
    counts.lints++
  })

  it('lints the chart without values: they are missed, and nothing breaks', () => {
    const { ok, stdout, stderr } = helm.run('lint', '--strict', CHART)
    expect(stdout + stderr).not.toMatch(/\[(WARNING|ERROR)\]/)
    expect(ok).toBe(true)
    counts.lints++
  })

  describe.each(Object.keys(VERSIONS))('for Kubernetes %s', (kubernetes) => {
    const models = new KubernetesModels(VERSIONS[kubernetes] as ModelVersion)

    it.each(VALUE_SETS)('renders the values "$name", each field known', ({ file }) => {
      const manifests = helm.manifests(CHART, '--values', file, '--kube-version', kubernetes)
      counts.templates++
      counts.manifests += manifests.length
      for (const manifest of manifests) distinct.set(JSON.stringify(manifest), manifest)
      expect(unknownTo(models, manifests)).toEqual([])
    })
  })
})

describe('the two versions of Helm', () => {
  it.each(VALUE_SETS)('render the values "$name" alike', ({ file }) => {
    const [one, other] = helms.map(({ helm }) =>
      helm
        .manifests(CHART, '--values', file, '--kube-version', '1.33')
        .map((manifest) => JSON.stringify(manifest))
        .sort(),
    )
    expect(one).toEqual(other)
  })
})

describe('what was rendered', () => {
  it('has no name twice, and every object in a namespace and labelled', () => {
    const [{ helm }] = helms as [(typeof helms)[number]]
    for (const { file } of VALUE_SETS) {
      const manifests = helm.manifests(CHART, '--values', file)
      const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.namespace} ${metadata.name}`)
      expect(new Set(names).size).toBe(names.length)
      const bare = manifests.filter(
        ({ metadata }) => !metadata.name.endsWith('-extra') && !metadata.namespace,
      )
      expect(bare).toEqual([])
    }
  })

  it('has the types, required fields and known fields of the newest API and of the Prometheus operator', () => {
    expect(typeFaults([...distinct.values()])).toBe('')
  })

  it('passes the schemas of the newest API and of the Prometheus operator', async () => {
    for (const manifest of distinct.values()) await requireSchema(manifest)
  })

  it('has no label or name that is too long, whatever the release is called', () => {
    const [{ helm }] = helms as [(typeof helms)[number]]
    const file = VALUE_SETS.find(({ name }) => name === 'standalone')?.file as string
    const long = ['--set', `fullnameOverride=${'x'.repeat(70)}`]
    const manifests = helm.manifests(CHART, '--values', file, ...long)
    for (const { metadata } of manifests) expect(metadata.name.length).toBeLessThanOrEqual(63)
    expect(only(manifests, 'StatefulSet').metadata.name).toBe('x'.repeat(44))
  })

  it('comes to these numbers', () => {
    process.stdout.write(
      `helm: ${counts.lints} strict lints, ${counts.templates} renderings (${helms.length} versions of Helm, ` +
        `${Object.keys(VERSIONS).length} of Kubernetes, ${VALUE_SETS.length} sets of values), ${counts.manifests} ` +
        `manifests, ${distinct.size} of them distinct; ${counts.checked} checks against a version's API\n`,
    )
    expect(counts.templates).toBe(helms.length * Object.keys(VERSIONS).length * VALUE_SETS.length)
  })
})

describe('the checks', () => {
  const models = new KubernetesModels('1.29')
  const service: Manifest = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x' },
    spec: { ports: [{ port: 1 }] },
  }
  const faulty = (spec: object): Manifest => ({ ...service, spec })

  it('see an unknown field, a wrong type and a missing field', async () => {
    expect(models.faults(faulty({ ports: [{ prot: 1 }] }))).toEqual([
      'Service x.spec.ports[0].prot is unknown',
    ])
    expect(models.faults(faulty({ clusterIP: 7 }))).toEqual(['Service x.spec.clusterIP is no string: 7'])
    expect(typeFaults([service])).toBe('')
    expect(typeFaults([faulty({ ports: [{ port: 1, prot: 1 }] })])).toMatch(/prot.* does not exist/)
    expect(typeFaults([faulty({ ports: [{}] })])).toMatch(/Property .*port.* is missing/)
    await expect(requireSchema(faulty({ ports: [{}] }))).rejects.toThrow('port')
  })

  it('know that a container of Kubernetes 1.27 has no restartPolicy', () => {
    const container = { name: 'x', restartPolicy: 'Always' }
    const pod = { ...service, kind: 'Pod', spec: { containers: [], initContainers: [container] } }
    expect(models.faults(pod)).toEqual([])
    expect(new KubernetesModels('1.27').faults(pod)).toEqual([
      'Pod x.spec.initContainers[0].restartPolicy is unknown',
    ])
  })
})

describe('Chart.yaml', () => {
  const read = (file: string) => fs.readFileSync(path.join(ROOT, file), 'utf8')

  it('names the version of the program that is in the repository', () => {
    const { appVersion } = parse(read('charts/fencegate/Chart.yaml'))
    expect(appVersion).toBe(JSON.parse(read('package.json')).version)
  })

  it('refuses a Kubernetes that is older than the chart is checked for', () => {
    const [{ helm }] = helms as [(typeof helms)[number]]
    const file = VALUE_SETS[0]?.file as string
    const { ok, stderr } = helm.template(CHART, '--values', file, '--kube-version', '1.26')
    expect(ok).toBe(false)
    expect(stderr).toContain('kubeVersion: >=1.27.0-0')
  })
})
