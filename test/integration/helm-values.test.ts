/**
 * What the chart refuses, and says why: by the schema first, and by the templates for those who skip it. And that its
 * schema knows the keys of the program's configuration, and the program the configuration that the chart renders.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { identity, pem } from '../support/certificates.ts'
import { CHART, HELM_VERSIONS, Helm, type Manifest, only, VALUE_SETS } from '../support/helm.ts'
import { configDefinition, SCHEMA_FILE } from '../support/helm-schema.ts'
import { ROOT } from '../support/sources.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const helms = HELM_VERSIONS.map((version) => ({ version, helm: new Helm(version) }))
const newest = helms[0]?.helm as Helm

const valuesOf = (name: string) => VALUE_SETS.find((set) => set.name === name)?.file as string
/** `standalone` with further settings, each as `--set` takes it. */
const withSet = (...settings: string[]) => [
  ...['--values', valuesOf('standalone')],
  ...settings.flatMap((setting) => ['--set', setting]),
]

/** What must not be, and what is said of it. */
const REFUSED_BY_SCHEMA: readonly (readonly [string, string])[] = [
  ['replicaCount=2', 'two enforcers before one resource do not fence each other'],
  [
    'persistence.emptyDir.sizeLimit=1Gi',
    'the marks would go with the pod, and stale holders could write again',
  ],
  ['persistence.enabled=false', 'the marks go with the pod, and stale holders could write again'],
  ['persistence.accessMode=ReadWriteMany', 'two pods with one store would be two enforcers'],
  ['config.store.create=if-missing', 'must not make an empty one, in which stale holders could write again'],
  ['replicas=2', 'replicas'],
  ['config.uptream.url=http://x', 'uptream'],
  ['config.routes[0].gaurd=none', 'gaurd'],
  ['config.claim.maxToken=9223372036854775807', 'maxToken'],
  ['image.repo=x', 'repo'],
  ['secrets.upstreamAuth.value=x', 'value'],
  ['podDisruptionBudget.minAvailable=1', 'minAvailable'],
  ['init.floor=41000', 'floor'],
]

/** What the schema can't see, or did not see because it was skipped. */
const REFUSED_BY_TEMPLATES: readonly (readonly [string, string])[] = [
  ['replicaCount=2', 'replicaCount: 2: two enforcers before one resource do not fence each other'],
  ['persistence.emptyDir.sizeLimit=1Gi', 'persistence: an emptyDir goes with its pod'],
  ['persistence.enabled=false', 'persistence: an emptyDir goes with its pod'],
  ['persistence.accessMode=ReadWriteMany', 'persistence.accessMode: ReadWriteMany: two pods with one store'],
  ['config.store.create=if-missing', 'config.store.create: if-missing: a start that misses its store'],
  ['config.store.path=/data', 'config.store.path: /data is not within /var/lib/fencegate'],
  ['config.store.lockWait=28s', 'config.store.lockWait: 28 s: a successor must wait for longer'],
  ['config.shutdown.deadline=1m', 'config.store.lockWait: 60 s: a successor must wait for longer'],
  ['terminationGracePeriodSeconds=28', 'terminationGracePeriodSeconds: 28: the sidecar would be killed'],
  ['config.listen=127.0.0.1:8470', 'config.listen: 127.0.0.1:8470 is reached from within the pod alone'],
  ['config.admin.listen=localhost:8471', 'config.admin.listen: localhost:8471 is reached from within'],
  ['config.listen=0.0.0.0:0', 'config.listen: 0.0.0.0:0 is any free port'],
  ['config.upstream.url=', 'config.upstream.url: name the resource'],
  ['image.repository=', 'image.repository: no image of fencegate is published'],
  ['init.enabled=null', 'init.enabled: say true for a new resource'],
  ['mode=sidecar', "sidecar.statefulSetName: name the resource's StatefulSet"],
  ['serviceMonitor.enabled=true,podMonitor.enabled=true', 'every series is there twice: enable one'],
  [
    'secrets.upstreamAuth.existingSecret=a,config.upstream.auth.file=b',
    'config.upstream.auth.file: a Secret',
  ],
  ['extraVolumeMounts[0].mountPath=/var/lib/fencegate/store', 'is mounted over the store'],
  ['extraEnv[0].name=FENCEGATE_DATA', 'extraEnv: FENCEGATE_DATA would beat the configuration'],
]

describe.each(helms)('Helm $version', ({ helm }) => {
  it.each(REFUSED_BY_SCHEMA)('refuses %s by the schema', (setting, reason) => {
    const { ok, stderr } = helm.template(CHART, ...withSet(setting))
    expect(ok).toBe(false)
    expect(stderr).toContain("values don't meet the specifications of the schema")
    expect(stderr).toContain(reason)
  })

  it.each(REFUSED_BY_TEMPLATES)('refuses %s by the templates', (setting, reason) => {
    const { ok, stderr } = helm.template(CHART, ...withSet(setting), '--skip-schema-validation')
    expect(ok).toBe(false)
    expect(stderr).toContain(reason)
  })

  it('refuses to leave the resource open, unless told to', () => {
    const open = ['--values', valuesOf('existing'), '--set', 'resource.networkPolicy.enabled=true']
    const { ok, stderr } = helm.template(CHART, ...open)
    expect(ok).toBe(false)
    expect(stderr).toContain("resource.podLabels: name the labels of the resource's pods")
  })

  it('needs no decision about the store at an upgrade', () => {
    const manifests = helm.manifests(CHART, ...withSet('init.enabled=null'), '--is-upgrade')
    expect(manifests.some(({ kind }) => kind === 'Job' || kind === 'PersistentVolumeClaim')).toBe(false)
  })

  it('makes no store at an upgrade, even when asked', () => {
    const manifests = helm.manifests(CHART, ...withSet('init.enabled=true'), '--is-upgrade')
    expect(manifests.some(({ kind }) => kind === 'Job' || kind === 'PersistentVolumeClaim')).toBe(false)
  })
})

describe('values.schema.json', () => {
  const schema = JSON.parse(fs.readFileSync(SCHEMA_FILE, 'utf8'))
  const values = parse(fs.readFileSync(path.join(CHART, 'values.yaml'), 'utf8'))

  it("has the keys of the program's configuration (run test/support/helm-schema.ts if it hasn't)", () => {
    expect(schema.definitions.config).toEqual(configDefinition())
  })

  it('has every value of values.yaml, and no other but those that it refuses', () => {
    expect(
      namesIn(schema)
        .filter((name) => !/^(global|persistence\.(enabled|emptyDir))$/.test(name))
        .sort(),
    ).toEqual(namesOf(values).sort())
  })

  it('has each value set by the values "everything", or is a choice that those can not be', () => {
    const everything = namesOf(parse(fs.readFileSync(valuesOf('everything'), 'utf8')))
    const elsewhere = ['mesh', 'existing', 'sidecar'].flatMap((name) =>
      namesOf(parse(fs.readFileSync(valuesOf(name), 'utf8'))),
    )
    const unset = namesOf(values).filter((name) => ![...everything, ...elsewhere].includes(name))
    // The defaults of these are what a security review reads, and the tests of the pod look at.
    const asTheyAre =
      /^(replicaCount$|podSecurityContext|securityContext|livenessProbe|podMonitor\.|secrets\.|dashboard\.labels|sidecar\.native)/
    expect(unset.filter((name) => !asTheyAre.test(name))).toEqual([])
  })
})

/** The names of values that the schema describes; what holds anything is one name. */
function namesIn(schema: { properties: Record<string, never> }, prefix = ''): string[] {
  return Object.entries<{ properties?: Record<string, never> }>(schema.properties).flatMap(([name, value]) =>
    value.properties === undefined
      ? [`${prefix}${name}`]
      : namesIn({ properties: value.properties }, `${prefix}${name}.`),
  )
}

const SCHEMA = JSON.parse(fs.readFileSync(SCHEMA_FILE, 'utf8'))

/** The names of values in a file, to the depth that the schema describes. */
function namesOf(values: Record<string, unknown>): string[] {
  const known = namesIn(SCHEMA)
  const walk = (tree: object, prefix: string): string[] =>
    Object.entries(tree).flatMap(([name, value]) => {
      const full = `${prefix}${name}`
      return known.includes(full) || typeof value !== 'object' || value === null
        ? [full]
        : walk(value, `${full}.`)
    })
  return walk(values, '')
}

describe('README.md', () => {
  const page = fs.readFileSync(path.join(CHART, 'README.md'), 'utf8')
  const blocks = [...page.matchAll(/^ *```yaml\n([\s\S]*?)^ *```/gm)].map(([, text = '']) => parse(text))

  it('has values that are enough, with what the command says besides', () => {
    const file = path.join(temporaryDirectory(), 'values.yaml')
    fs.writeFileSync(file, JSON.stringify(blocks.find(({ image }) => image)))
    expect(page).toContain('--values ledger-fence.yaml --set init.enabled=true')
    const kinds = newest
      .manifests(CHART, '--values', file, '--set', 'init.enabled=true')
      .map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['StatefulSet', 'NetworkPolicy', 'Job']))
  })

  it('has values for the sidecar that the schema takes', () => {
    const file = path.join(temporaryDirectory(), 'values.yaml')
    fs.writeFileSync(file, JSON.stringify(blocks.find(({ fencegate }) => fencegate).fencegate))
    const { ok, stderr } = newest.template(CHART, '--values', file, '--set', 'init.enabled=true')
    expect({ ok, stderr: ok ? '' : stderr }).toEqual({ ok: true, stderr: '' })
  })

  it('names the templates that there are for other charts', () => {
    const templates = fs.readFileSync(path.join(CHART, 'templates/_sidecar.tpl'), 'utf8')
    const defined = [...templates.matchAll(/define "(fencegate\.sidecar\.\w+)"/g)].map(([, name]) => name)
    const named = [...page.matchAll(/`(fencegate\.sidecar\.\w+)`/g)].map(([, name]) => name)
    const inner = ['fencegate.sidecar.isNative', 'fencegate.sidecar.requireMode']
    expect([...named, ...inner].sort()).toEqual(defined.sort())
  })
})

describe('the rendered configuration', () => {
  it.each(VALUE_SETS)('of the values "$name" has no fault for the program', ({ file }) => {
    const manifests = newest.manifests(CHART, '--values', file)
    const { status, stderr } = checkConfig(manifests)
    expect(stderr.replaceAll(/^warning: admin\.(listen|tokenFile): .*\n/gm, '')).toBe('')
    expect(status).toBe(0)
  })

  it('is what check-config shows of the listeners, the store and long numbers', () => {
    const { stdout } = checkConfig(newest.manifests(CHART, '--values', valuesOf('everything')))
    expect(stdout).toContain('0.0.0.0:8443 for data, 0.0.0.0:9471 for admin')
    expect(stdout).toContain('/var/lib/fencegate/store, create never, lock wait 2m')
    expect(stdout).toContain('tokens up to 9007199254740993')
    expect(stdout).toContain('1000000000 entries at most')
  })

  it('is refused by the program where the schema lets a wrong value pass', () => {
    const manifests = newest.manifests(CHART, ...withSet('config.restartGrace=soon'))
    const { status, stderr } = checkConfig(manifests)
    expect(status).toBe(64)
    expect(stderr).toContain('restartGrace: "soon" is not a duration')
  })
})

/** Runs `check-config` as the container would, with the files of the Secrets in place. */
function checkConfig(manifests: readonly Manifest[]) {
  const directory = temporaryDirectory()
  const config = manifests.find(({ kind, data }) => kind === 'ConfigMap' && data?.['fencegate.yaml'])
  if (!config) throw new Error('no ConfigMap holds fencegate.yaml')
  const file = path.join(directory, 'fencegate.yaml')
  const text = (config.data['fencegate.yaml'] as string).replaceAll('/etc/fencegate/secrets', directory)
  fs.writeFileSync(file, text)
  for (const [name, content] of Object.entries(secrets())) {
    fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true })
    fs.writeFileSync(path.join(directory, name), content, { mode: 0o640 })
  }
  const sts = manifests.find(({ kind }) => kind === 'StatefulSet')
  const variables: { name: string; value: string }[] = sts?.spec.template.spec.containers[0].env ?? []
  const env = Object.fromEntries(variables.map(({ name, value }) => [name, value]))
  const args = [path.join(ROOT, 'src/main.ts'), 'check-config', '--config', file]
  return spawnSync(process.execPath, args, { env, encoding: 'utf8' })
}

function secrets(): Record<string, string> {
  const { cert, key } = identity('server-1')
  const client = identity('client-settler')
  return {
    'upstreamAuth/credential': 'Bearer abcdefgh\n',
    'upstreamTls/ca.crt': pem('server-ca'),
    'upstreamTls/tls.crt': client.cert,
    'upstreamTls/tls.key': client.key,
    'dataTls/tls.crt': cert,
    'dataTls/tls.key': key,
    'dataTls/ca.crt': pem('clients-ca'),
    'adminTokens/admin.tokens': 'ana 0123456789abcdef0123456789abcdef\n',
    'operationsKey/operations.key': `${Buffer.alloc(32, 7).toString('base64')}\n`,
  }
}

describe('Secrets', () => {
  it('are mounted where the configuration looks for them, for the group of the pod alone', () => {
    const manifests = newest.manifests(CHART, '--values', valuesOf('everything'))
    const { volumes } = only(manifests, 'StatefulSet').spec.template.spec
    const { projected } = volumes.find(({ name }: { name: string }) => name === 'fencegate-secrets')
    expect(projected.defaultMode).toBe(0o440)
    const paths = projected.sources.map(
      ({ secret }: { secret: { items: { path: string }[] } }) => secret.items[0]?.path,
    )
    expect(paths.sort()).toEqual(Object.keys(secrets()).sort())
  })

  it('are none of the chart, whatever is set', () => {
    for (const { file } of VALUE_SETS) {
      const kinds = newest.manifests(CHART, '--values', file).map(({ kind }) => kind)
      expect(kinds).not.toContain('Secret')
    }
  })
})
