/** The templates for other charts, by the example: a database's own chart that takes the sidecar into its pod. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHART, HELM_VERSIONS, Helm, type Manifest, only } from '../support/helm.ts'
import { KubernetesModels } from '../support/kubernetes-models.ts'
import { requireSchema, typeFaults } from '../support/kubernetes-types.ts'

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-chart-'))
const example = path.join(directory, 'fencegate/examples/ledger')

beforeAll(() => {
  fs.cpSync(CHART, path.join(directory, 'fencegate'), { recursive: true })
  const { ok, stderr } = new Helm(4).run('dependency', 'build', example)
  if (!ok) throw new Error(stderr)
})

afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

const init = ['--set', 'fencegate.init.enabled=true']

interface Container {
  readonly name: string
  readonly restartPolicy?: string
  readonly volumeMounts: readonly { readonly name: string }[]
}

const podOf = (manifests: readonly Manifest[]) => only(manifests, 'StatefulSet', 'ledger').spec.template.spec
const names = (containers: readonly Container[] = []) => containers.map(({ name }) => name)

describe.each(HELM_VERSIONS)('Helm %s', (version) => {
  const helm = new Helm(version)
  const render = (...args: string[]) => helm.manifests(example, ...init, ...args)

  it('lints the example strictly', () => {
    const { ok, stdout, stderr } = helm.run('lint', '--strict', example, ...init)
    expect(stdout + stderr).not.toMatch(/\[(WARNING|ERROR)\]/)
    expect(ok).toBe(true)
  })

  it('renders no workload but the resource, whose fields are all known', async () => {
    const manifests = render('--kube-version', '1.34')
    expect(
      manifests.filter(({ kind }) => kind === 'StatefulSet').map(({ metadata }) => metadata.name),
    ).toEqual(['ledger'])
    const models = new KubernetesModels('1.34')
    expect(manifests.flatMap((manifest) => models.faults(manifest))).toEqual([])
    expect(typeFaults(manifests)).toBe('')
    for (const manifest of manifests) await requireSchema(manifest)
  })

  it('starts the sidecar before the resource, and ends it after, from Kubernetes 1.29 on', () => {
    const { initContainers, containers } = podOf(render('--kube-version', '1.29'))
    expect(names(initContainers)).toEqual(['fencegate'])
    expect(initContainers[0].restartPolicy).toBe('Always')
    expect(names(containers)).toEqual(['ledger'])
  })

  it('puts a plain container beside the resource before Kubernetes 1.29, where native ones are unknown', () => {
    const manifests = render('--kube-version', '1.28')
    const { initContainers, containers } = podOf(manifests)
    expect(initContainers).toBeUndefined()
    expect(names(containers)).toEqual(['ledger', 'fencegate'])
    const models = new KubernetesModels('1.27')
    expect(manifests.flatMap((manifest) => models.faults(manifest))).toEqual([])
  })

  it('refuses a second replica of the resource', () => {
    const { ok, stderr } = helm.template(example, ...init, '--set', 'replicas=2')
    expect(ok).toBe(false)
    expect(stderr).toContain('2 replicas of the resource, each with a sidecar of its own')
  })

  it('refuses to add the sidecar to a pod beside a standalone one', () => {
    const standalone = ['--set', 'fencegate.mode=standalone']
    const { ok, stderr } = helm.template(example, ...init, ...standalone)
    expect(ok).toBe(false)
    expect(stderr).toContain('fencegate.mode: set it to sidecar')
  })
})

describe('the pod with the sidecar in it', () => {
  const helm = new Helm(4)
  const render = (...args: string[]) => helm.manifests(example, ...init, '--kube-version', '1.33', ...args)

  it('has every volume that is mounted, and the claim in which the store was made', () => {
    const manifests = render('--set', 'fencegate.secrets.adminTokens.existingSecret=tokens')
    const { spec } = only(manifests, 'StatefulSet')
    const { initContainers, containers, volumes } = spec.template.spec
    const claims = spec.volumeClaimTemplates.map(({ metadata }: Manifest) => metadata.name)
    const there = [...volumes.map(({ name }: { name: string }) => name), ...claims]
    const mounted = [...initContainers, ...containers].flatMap(({ volumeMounts }: Container) =>
      names(volumeMounts as never),
    )
    expect([...new Set(mounted)].sort()).toEqual([...there].sort())
    expect(only(manifests, 'PersistentVolumeClaim').metadata.name).toBe('fencegate-store-ledger-0')
    expect(claims).toContain('fencegate-store')
  })

  it('takes an existing claim as a volume', () => {
    const manifests = render('--set', 'fencegate.persistence.existingClaim=marks')
    const { spec } = only(manifests, 'StatefulSet')
    expect(spec.volumeClaimTemplates.map(({ metadata }: Manifest) => metadata.name)).toEqual(['data'])
    expect(spec.template.spec.volumes).toContainEqual({
      name: 'fencegate-store',
      persistentVolumeClaim: { claimName: 'marks' },
    })
  })

  it('has the time for the resource to stop, and for the sidecar after it', () => {
    expect(podOf(render()).terminationGracePeriodSeconds).toBe(30 + 10 + 15)
  })

  it('is what the Services lead to, by the port of the sidecar', () => {
    const manifests = render()
    const { labels } = only(manifests, 'StatefulSet').spec.template.metadata
    const services = manifests.filter(({ kind }) => kind === 'Service')
    expect(services.length).toBe(3)
    for (const { spec } of services) {
      expect(labels).toMatchObject(spec.selector)
      // By number, because kubernetes/kubernetes#127958 finds no named port in an init container.
      const { ports } = podOf(manifests).initContainers[0]
      expect(ports.map(({ containerPort }: { containerPort: number }) => containerPort)).toContain(
        spec.ports[0].targetPort,
      )
    }
  })

  it('is restarted by a change of the configuration only if asked, because the resource would be, too', () => {
    const annotations = (...args: string[]) =>
      only(render(...args), 'StatefulSet').spec.template.metadata.annotations
    expect(annotations()).toBeUndefined()
    expect(annotations('--set', 'fencegate.restartOnConfigChange=true')['checksum/config']).toMatch(
      /^[0-9a-f]{64}$/,
    )
  })
})
