/** What a security review and an operator look for in the rendered pod, its policies, and what watches it. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { environmentOf, parseDockerfile, type Stage } from '../support/dockerfile.ts'
import { CHART, HELM_VERSIONS, Helm, type Manifest, NAMESPACE, only, VALUE_SETS } from '../support/helm.ts'
import { ROOT } from '../support/sources.ts'

const helm = new Helm(HELM_VERSIONS[0] as 4)
const valuesOf = (name: string) => VALUE_SETS.find((set) => set.name === name)?.file as string
const render = (name: string, ...args: string[]) => helm.manifests(CHART, '--values', valuesOf(name), ...args)
const set = (...settings: string[]) => settings.flatMap((setting) => ['--set', setting])

const podSpecs = (manifests: readonly Manifest[]) =>
  manifests.flatMap((one) => {
    if (one.kind === 'Pod') return [one.spec]
    return one.kind === 'StatefulSet' || one.kind === 'Job' ? [one.spec.template.spec] : []
  })
const ownContainers = (manifests: readonly Manifest[]) =>
  podSpecs(manifests)
    .flatMap(({ initContainers = [], containers }) => [...initContainers, ...containers])
    .filter(({ image }: { image: string }) => image.includes('/fencegate'))

describe('every pod of the chart', () => {
  it.each(VALUE_SETS)('of the values "$name" is as restricted as can be', ({ name }) => {
    const manifests = render(name)
    expect(podSpecs(manifests).length).toBeGreaterThan(0)
    for (const spec of podSpecs(manifests)) {
      expect(spec.automountServiceAccountToken).toBe(false)
      expect(spec.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) expect(spec[field]).toBeUndefined()
      for (const { emptyDir, hostPath } of spec.volumes ?? [])
        expect([emptyDir, hostPath]).toEqual([undefined, undefined])
    }
    for (const { securityContext } of ownContainers(manifests)) {
      expect(securityContext).toEqual({
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      })
    }
  })
})

describe('the image', () => {
  const dockerfile = fs.readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8')
  const image = parseDockerfile(dockerfile).at(-1) as Stage
  const { spec } = only(render('standalone'), 'StatefulSet').spec.template

  it('has the user that the pod runs as', () => {
    const { runAsUser, runAsGroup } = spec.securityContext
    expect(image.instructions.find(({ name }) => name === 'USER')?.text).toBe(`${runAsUser}:${runAsGroup}`)
  })

  it("has no setting of its own that would beat the chart's", () => {
    const own = Object.keys(environmentOf(image)).filter((name) => name.startsWith('FENCEGATE_'))
    const set: string[] = spec.containers[0].env.map(({ name }: { name: string }) => name)
    expect(own.filter((name) => !set.includes(name))).toEqual([])
  })

  it('has the program where the notes and the page say that it is', () => {
    const [, program] = image.instructions.find(({ name }) => name === 'ENTRYPOINT')?.exec ?? []
    const links = image.instructions.filter(({ name, text }) => name === 'RUN' && text.includes('ln -s'))
    expect(links.map(({ text }) => text.split('ln -s ')[1])).toEqual([`${program} /usr/local/bin/fencegate`])
    for (const file of ['templates/NOTES.txt', 'README.md']) {
      expect(fs.readFileSync(path.join(CHART, file), 'utf8')).toContain('-- fencegate status')
    }
  })
})

describe('two enforcers', () => {
  it('never overlap by an update: one replica, one claim for one pod, and a successor that waits', () => {
    const { spec } = only(render('standalone', '--kube-version', '1.29'), 'StatefulSet')
    expect(spec.replicas).toBe(1)
    expect(spec.updateStrategy).toEqual({ type: 'RollingUpdate' })
    expect(spec.volumeClaimTemplates[0].spec.accessModes).toEqual(['ReadWriteOncePod'])
    expect(spec.persistentVolumeClaimRetentionPolicy).toEqual({ whenDeleted: 'Retain', whenScaled: 'Retain' })
  })

  it('have a plain ReadWriteOnce claim before Kubernetes 1.29', () => {
    const { spec } = only(render('standalone', '--kube-version', '1.28'), 'StatefulSet')
    expect(spec.volumeClaimTemplates[0].spec.accessModes).toEqual(['ReadWriteOnce'])
  })

  it.each([
    ['', 43],
    ['config.shutdown.delay=1500ms', 42],
    ['config.shutdown.delay=0s,config.shutdown.deadline=30s', 45],
    ['config.shutdown.deadline=1m,config.store.lockWait=2m', 78],
    ['terminationGracePeriodSeconds=100', 100],
  ])('get the time to stop in: %s', (setting, seconds) => {
    const { spec } = only(render('standalone', ...set(setting)), 'StatefulSet')
    expect(spec.template.spec.terminationGracePeriodSeconds).toBe(seconds)
  })

  it.each([
    ['', 60],
    ['config.store.lockWait=5m', 180],
    ['startupProbe.periodSeconds=7', 18],
  ])('are not killed while they wait for the lock: %s', (setting, failures) => {
    const { spec } = only(render('standalone', ...set(setting)), 'StatefulSet')
    expect(spec.template.spec.containers[0].startupProbe.failureThreshold).toBe(failures)
  })
})

describe('an upgrade', () => {
  it('leaves alone what a StatefulSet does not let change, whatever is said of all objects', () => {
    const fixed = (...args: string[]) => {
      const { selector, serviceName, volumeClaimTemplates, podManagementPolicy } = only(
        render('standalone', '--is-upgrade', ...args),
        'StatefulSet',
      ).spec
      return { selector, serviceName, volumeClaimTemplates, podManagementPolicy }
    }
    const common = set('commonLabels.team=x', 'commonAnnotations.team=x', 'podLabels.team=x', 'image.tag=x')
    expect(fixed(...common)).toEqual(fixed())
  })
})

describe('the store', () => {
  it('is made by a hook of the install, before the StatefulSet, in the claim that this takes', () => {
    const manifests = render('mesh')
    const job = only(manifests, 'Job')
    const claim = only(manifests, 'PersistentVolumeClaim')
    const { spec, metadata } = only(manifests, 'StatefulSet')
    expect(job.metadata.annotations?.['helm.sh/hook']).toBe('pre-install')
    expect(job.spec.backoffLimit).toBe(0)
    const { args } = job.spec.template.spec.containers[0]
    expect(args).toEqual(['init', '--data', '/var/lib/fencegate/store', '--floor', '41000'])
    expect(claim.metadata.name).toBe(`${spec.volumeClaimTemplates[0].metadata.name}-${metadata.name}-0`)
    expect(claim.spec).toEqual(spec.volumeClaimTemplates[0].spec)
    expect(job.spec.template.spec.volumes[0].persistentVolumeClaim.claimName).toBe(claim.metadata.name)
    const weight = ({ metadata }: Manifest) => Number(metadata.annotations?.['helm.sh/hook-weight'])
    expect(weight(claim)).toBeLessThan(weight(job))
  })

  it('is not among what the Service, the policies and the monitors select', () => {
    const manifests = render('standalone', ...set('podMonitor.enabled=true'))
    const { labels } = only(manifests, 'Job').spec.template.metadata
    const selectors = [
      ...manifests.filter(({ kind }) => kind === 'Service').map(({ spec }) => spec.selector),
      only(manifests, 'NetworkPolicy', 'fencegate').spec.podSelector.matchLabels,
      only(manifests, 'PodMonitor').spec.selector.matchLabels,
    ]
    for (const selector of selectors) expect(labels).not.toMatchObject(selector)
  })

  it('is not made in a claim that is there, unless asked', () => {
    const kinds = render('existing').map(({ kind }) => kind)
    expect(kinds).not.toContain('Job')
    expect(kinds).not.toContain('PersistentVolumeClaim')
    const asked = render('existing', ...set('init.enabled=true'))
    expect(asked.map(({ kind }) => kind)).not.toContain('PersistentVolumeClaim')
    expect(only(asked, 'Job').spec.template.spec.volumes[0].persistentVolumeClaim.claimName).toBe(
      'ledger-marks',
    )
  })
})

describe('NetworkPolicies', () => {
  it("let only the enforcer's pods reach the resource, in the resource's namespace, on its pods' port", () => {
    const manifests = render('mesh')
    const { metadata, spec } = only(manifests, 'NetworkPolicy', '-resource')
    const pod = only(manifests, 'StatefulSet').spec.template.metadata.labels
    expect(metadata.namespace).toBe('payments')
    expect(spec.podSelector.matchLabels).toEqual({ app: 'ledger' })
    expect(spec.ingress.length).toBe(1)
    const [{ ports, from }] = spec.ingress
    expect(ports).toEqual([{ port: 9201, protocol: 'TCP' }])
    expect(from.length).toBe(1)
    expect(from[0].namespaceSelector.matchLabels).toEqual({ 'kubernetes.io/metadata.name': NAMESPACE })
    expect(pod).toMatchObject(from[0].podSelector.matchLabels)
  })

  it('are one in mode sidecar, which leaves the port of the resource out', () => {
    const { podSelector, ingress } = only(render('sidecar'), 'NetworkPolicy').spec
    expect(podSelector.matchLabels).toEqual({ app: 'ledger' })
    expect(ingress.map(({ ports }: { ports: { port: number }[] }) => ports[0]?.port)).toEqual([8470, 8471])
  })
})

describe('an empty list of peers', () => {
  it.each([
    ['clients', 8471],
    ['scrapers', 8470],
  ])('in networkPolicy.%s admits nobody, where Kubernetes would take it for everybody', (peers, left) => {
    const args = ['--set-json', `networkPolicy.${peers}=[]`]
    const { ingress } = only(render('standalone', ...args), 'NetworkPolicy', 'fencegate').spec
    expect(ingress.map(({ ports }: { ports: { port: number }[] }) => ports[0]?.port)).toEqual([left])
    for (const { from } of ingress) expect(from.length).toBeGreaterThan(0)
  })

  it('in both closes the pod', () => {
    const args = ['--set-json', 'networkPolicy.clients=[]', '--set-json', 'networkPolicy.scrapers=[]']
    const { policyTypes, ingress } = only(render('standalone', ...args), 'NetworkPolicy', 'fencegate').spec
    expect({ policyTypes, ingress }).toEqual({ policyTypes: ['Ingress'], ingress: [] })
  })
})

describe('a mesh', () => {
  it('is left as it is where the resource is on loopback, which it does not see', () => {
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
      const args = ['--set-string', `config.upstream.url=http://${host}:9200`, ...set('mesh.provider=istio')]
      const { annotations } = only(render('standalone', ...args), 'StatefulSet').spec.template.metadata
      expect(Object.keys(annotations)).toEqual(['checksum/config'])
    }
  })

  it.each([
    ['istio', 'traffic.sidecar.istio.io/excludeOutboundPorts', '9200,443'],
    ['linkerd', 'config.linkerd.io/skip-outbound-ports', '9200,443'],
  ])('such as %s does not stand between the sidecar and its resources', (provider, annotation, ports) => {
    const manifests = render('mesh', ...set(`mesh.provider=${provider}`))
    expect(only(manifests, 'StatefulSet').spec.template.metadata.annotations[annotation]).toBe(ports)
  })

  it('puts no proxy beside the Job that makes the store and the test, which would keep them from ending', () => {
    const podsOf = (provider: string) => {
      const manifests = render('mesh', ...set(`mesh.provider=${provider}`))
      return [only(manifests, 'Job').spec.template.metadata, only(manifests, 'Pod').metadata]
    }
    for (const { labels } of podsOf('istio')) expect(labels['sidecar.istio.io/inject']).toBe('false')
    for (const { annotations } of podsOf('linkerd')) expect(annotations['linkerd.io/inject']).toBe('disabled')
  })
})

describe('a change of the configuration', () => {
  const checksum = (...settings: string[]) =>
    only(render('standalone', ...set(...settings)), 'StatefulSet').spec.template.metadata.annotations?.[
      'checksum/config'
    ]

  it('restarts the pod, and nothing else does', () => {
    expect(checksum()).toMatch(/^[0-9a-f]{64}$/)
    expect(checksum('config.log.level=debug')).not.toBe(checksum())
    expect(checksum('secrets.adminTokens.existingSecret=x')).not.toBe(checksum())
    expect(checksum('service.port=80')).toBe(checksum())
  })

  it('does not where the sidecar is to take it while it runs', () => {
    expect(checksum('restartOnConfigChange=false')).toBeUndefined()
  })
})

describe('what watches it', () => {
  const manifests = render('everything')

  it('is off by default, and so is the PodDisruptionBudget', () => {
    const kinds = new Set(render('standalone').map(({ kind }) => kind))
    for (const kind of ['ServiceMonitor', 'PodMonitor', 'PrometheusRule', 'PodDisruptionBudget']) {
      expect(kinds).not.toContain(kind)
    }
  })

  it('scrapes one Service, on its admin port, under a job with the name of the program', () => {
    const { selector, endpoints, jobLabel } = only(manifests, 'ServiceMonitor').spec
    const services = manifests.filter(({ kind }) => kind === 'Service')
    const matching = services.filter(({ metadata: { labels = {} } }) =>
      Object.entries(selector.matchLabels).every(([name, value]) => labels[name] === value),
    )
    expect(matching.map(({ metadata }) => metadata.name)).toEqual(['ledger-fence-headless'])
    expect(matching[0]?.spec.ports[0].name).toBe(endpoints[0].port)
    expect(matching[0]?.spec.publishNotReadyAddresses).toBe(true)
    expect(matching[0]?.metadata.labels?.[jobLabel]).toBe('fence')
  })

  it('has the alerts of files/alerts.yaml, each with its page at the given address', () => {
    const { groups } = parse(fs.readFileSync(path.join(CHART, 'files/alerts.yaml'), 'utf8'))
    const base = 'https://git.example/fencegate/blob/main/'
    const text = JSON.stringify(groups).replaceAll('"runbook_url":"', `"runbook_url":"${base}`)
    expect(only(manifests, 'PrometheusRule').spec.groups).toEqual(JSON.parse(text))
  })

  it('has the dashboard of files/grafana-dashboard.json, under the label that Grafana looks for', () => {
    const dashboard = only(manifests, 'ConfigMap', '-dashboard')
    expect(dashboard.metadata.labels?.grafana_dashboard).toBe('1')
    const file = fs.readFileSync(path.join(CHART, 'files/grafana-dashboard.json'), 'utf8')
    expect(JSON.parse(dashboard.data['fencegate.json'])).toEqual(JSON.parse(file))
  })
})
