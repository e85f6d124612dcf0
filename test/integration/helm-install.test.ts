/**
 * What Helm does at install, upgrade and uninstall, against a stub of the API that keeps what it is given: the claim and the
 * store come first and once, and Helm never deletes the claim. It is not a cluster: nothing runs.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  CHART,
  HELM_VERSIONS,
  Helm,
  type HelmVersion,
  NAMESPACE,
  RELEASE,
  VALUE_SETS,
} from '../support/helm.ts'
import { KubernetesStub } from '../support/kubernetes-stub.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const CLAIM = 'PersistentVolumeClaim fencegate-store-fg-fencegate-0'
const JOB = 'Job fg-fencegate-init'
const SET = 'StatefulSet fg-fencegate'
const values = VALUE_SETS.find(({ name }) => name === 'standalone')?.file as string

async function scene(version: HelmVersion) {
  const stub = await KubernetesStub.start(temporaryDirectory())
  onTestFinished(() => stub.close())
  const helm = new Helm(version, stub.env)
  const inNamespace = ['--namespace', NAMESPACE]
  return {
    stub,
    helm: (verb: string, ...args: string[]) => helm.running(verb, RELEASE, ...args, ...inNamespace),
    install: (...args: string[]) =>
      helm.running('install', RELEASE, CHART, '--values', values, ...inNamespace, ...args),
    upgrade: (...args: string[]) =>
      helm.running('upgrade', RELEASE, CHART, '--values', values, ...inNamespace, ...args),
    /** What was done since the last time. */
    acts: () => stub.acts.splice(0),
  }
}

describe.each(HELM_VERSIONS)('Helm %s', (version) => {
  it('makes the claim, then the store, then everything else', async () => {
    const { install, acts } = await scene(version)
    const { ok, stdout, stderr } = await install()
    expect({ ok, stderr: ok ? '' : stderr }).toEqual({ ok: true, stderr: '' })
    const done = acts()
    expect(done.slice(0, 3)).toEqual([`create ${CLAIM}`, `create ${JOB}`, `delete ${JOB}`])
    expect(done.slice(3)).toContain(`create ${SET}`)
    expect(done.filter((act) => act.endsWith(CLAIM))).toEqual([`create ${CLAIM}`])
    expect(stdout).toContain('A new store was made, every task at 0. No upgrade makes another.')
  })

  it('makes no store at an upgrade, and leaves the claim alone', async () => {
    const { install, upgrade, acts } = await scene(version)
    await install()
    acts()
    expect(await upgrade('--set', 'config.log.level=debug')).toMatchObject({ ok: true })
    const done = acts()
    expect(done).toContain(`update ${SET}`)
    expect(done.filter((act) => act.endsWith(CLAIM) || act.endsWith(JOB))).toEqual([])
  })

  it("keeps the claim's access mode at an upgrade, which a newer cluster would have otherwise", async () => {
    const { install, upgrade } = await scene(version)
    expect(await install('--set', 'persistence.accessMode=ReadWriteOnce')).toMatchObject({ ok: true })
    const { ok, stdout } = await upgrade('--dry-run=server', '--set', 'persistence.accessMode=')
    expect({ ok, mode: /accessModes: \S+/.exec(stdout)?.[0] }).toEqual({
      ok: true,
      mode: 'accessModes: [ReadWriteOnce]',
    })
  })

  it('leaves the claim when it uninstalls, and takes it again only as it is', async () => {
    const { install, helm, acts, stub } = await scene(version)
    await install()
    expect(await helm('uninstall')).toMatchObject({ ok: true })
    expect(stub.kinds()).toEqual(['PersistentVolumeClaim'])
    acts()
    expect(await install('--set', 'init.enabled=false')).toMatchObject({ ok: true })
    expect(acts().filter((act) => act.endsWith(CLAIM) || act.endsWith(JOB))).toEqual([])
  })

  it('tries no new store in a claim that is there but by the Job, which refuses to replace one', async () => {
    const { install, helm, acts, stub } = await scene(version)
    await install()
    await helm('uninstall')
    acts()
    stub.jobsSucceed = false
    expect(await install()).toMatchObject({ ok: false })
    // The Job stays, so that its log can be read; nothing that serves was made.
    expect(acts()).toEqual([`create ${JOB}`])
    expect(stub.kinds()).toEqual(['PersistentVolumeClaim', 'Job'])
  })

  it('deletes no claim when the making of the store failed', async () => {
    const { install, acts, stub } = await scene(version)
    stub.jobsSucceed = false
    expect(await install()).toMatchObject({ ok: false })
    expect(acts()).toEqual([`create ${CLAIM}`, `create ${JOB}`])
  })
})
