/**
 * As much of a Kubernetes API server as Helm needs to install: it keeps what it is given, ends every Job at once, and
 * remembers what was made, changed and deleted, in order. Nothing is run, no controller acts.
 */
import fs from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { parse } from 'yaml'
import type { Manifest } from './helm.ts'
import { isProtobuf, secretIn } from './kubernetes-protobuf.ts'

/** Resources by group and version, as the paths of the API have them. */
const KINDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/api/v1': {
    configmaps: 'ConfigMap',
    namespaces: 'Namespace',
    persistentvolumeclaims: 'PersistentVolumeClaim',
    pods: 'Pod',
    secrets: 'Secret',
    serviceaccounts: 'ServiceAccount',
    services: 'Service',
  },
  '/apis/apps/v1': { statefulsets: 'StatefulSet' },
  '/apis/batch/v1': { jobs: 'Job' },
  '/apis/networking.k8s.io/v1': { networkpolicies: 'NetworkPolicy' },
  '/apis/policy/v1': { poddisruptionbudgets: 'PodDisruptionBudget' },
}

interface Answer {
  readonly status: number
  readonly body: object
}

const NOT_FOUND: Answer = { status: 404, body: statusOf(404, 'NotFound') }

export class KubernetesStub {
  /** `create`, `update` or `delete`, then kind and name; of Helm's own records nothing. */
  readonly acts: string[] = []
  readonly #objects = new Map<string, Manifest>()
  readonly #server: http.Server
  readonly #kubeconfig: string
  #version = 0
  /** Whether the Jobs that come from now on end well. */
  jobsSucceed = true

  private constructor(directory: string) {
    this.#kubeconfig = path.join(directory, 'kubeconfig')
    this.#server = http.createServer((request, response) => this.#serve(request, response))
  }

  static async start(directory: string): Promise<KubernetesStub> {
    const stub = new KubernetesStub(directory)
    await new Promise<void>((resolve) => stub.#server.listen(0, '127.0.0.1', resolve))
    const { port } = stub.#server.address() as AddressInfo
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'stub', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'stub', user: {} }],
      contexts: [{ name: 'stub', context: { cluster: 'stub', user: 'stub' } }],
      'current-context': 'stub',
    }
    fs.writeFileSync(stub.#kubeconfig, JSON.stringify(config))
    return stub
  }

  /** The variables by which Helm finds it. */
  get env(): Record<string, string> {
    return { KUBECONFIG: this.#kubeconfig }
  }

  kinds(): string[] {
    return [...this.#objects.values()].map(({ kind }) => kind).filter((kind) => kind !== 'Secret')
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const sent = Buffer.concat(chunks)
    const url = new URL(request.url as string, 'http://stub')
    if (url.searchParams.get('watch') === 'true') {
      this.#watch(url, response)
      return
    }
    const { status, body } = this.#answer(request.method as string, url, sent)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  #answer(method: string, url: URL, sent: Buffer): Answer {
    const found = discovery(url.pathname)
    if (found) return { status: 200, body: found }
    const place = placeOf(url.pathname)
    if (!place) return NOT_FOUND
    if (method === 'GET') return this.#read(place, url)
    if (method === 'DELETE') return this.#delete(url.pathname)
    const object = isProtobuf(sent) ? secretIn(sent) : (parse(sent.toString()) as Manifest)
    if (method === 'POST') return this.#create(`${url.pathname}/${object.metadata.name}`, object)
    return this.#update(url.pathname, object)
  }

  #read(place: Place, url: URL): Answer {
    if (place.name !== undefined) {
      const object = this.#objects.get(url.pathname)
      return object ? { status: 200, body: object } : NOT_FOUND
    }
    const metadata = { resourceVersion: String(this.#version) }
    const items = this.#selected(url)
    return { status: 200, body: { kind: `${place.kind}List`, apiVersion: place.apiVersion, metadata, items } }
  }

  #create(key: string, object: Manifest): Answer {
    if (this.#objects.has(key)) return { status: 409, body: statusOf(409, 'AlreadyExists') }
    return { status: 201, body: this.#put('create', key, object) }
  }

  /** A patch of what is not there makes it, as an apply does; how the parts are merged nobody asks here. */
  #update(key: string, object: Manifest): Answer {
    const before = this.#objects.get(key)
    return { status: 200, body: this.#put(before ? 'update' : 'create', key, { ...before, ...object }) }
  }

  #put(act: string, key: string, object: Manifest): Manifest {
    this.#version++
    const metadata = { uid: key, ...object.metadata, resourceVersion: String(this.#version) }
    const type = this.jobsSucceed ? 'Complete' : 'Failed'
    const status = object.kind === 'Job' ? { conditions: [{ type, status: 'True' }] } : object.status
    const kept = { ...object, metadata, ...(status !== undefined && { status }) }
    this.#objects.set(key, kept)
    this.#note(act, kept)
    return kept
  }

  #delete(key: string): Answer {
    const object = this.#objects.get(key)
    if (!object) return NOT_FOUND
    this.#objects.delete(key)
    this.#note('delete', object)
    return { status: 200, body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } }
  }

  #note(act: string, { kind, metadata }: Manifest): void {
    if (kind !== 'Secret') this.acts.push(`${act} ${kind} ${metadata.name}`)
  }

  #selected(url: URL): Manifest[] {
    const labels = (url.searchParams.get('labelSelector') ?? '').split(',').filter(Boolean)
    const name = /metadata\.name=([^,]+)/.exec(url.searchParams.get('fieldSelector') ?? '')?.[1]
    return [...this.#objects]
      .filter(([key]) => key.slice(0, key.lastIndexOf('/')) === url.pathname)
      .map(([, object]) => object)
      .filter((object) => name === undefined || object.metadata.name === name)
      .filter(({ metadata }) =>
        labels.every((label) => {
          const [key = '', value] = label.split('=')
          return metadata.labels?.[key] === value
        }),
      )
  }

  /** What is there now, told as if it had just been made; everything here is at its end at once. */
  #watch(url: URL, response: ServerResponse): void {
    const place = placeOf(url.pathname)
    response.writeHead(200, { 'content-type': 'application/json' })
    const tell = (type: string, object: object) => response.write(`${JSON.stringify({ type, object })}\n`)
    for (const object of this.#selected(url)) tell('ADDED', object)
    if (url.searchParams.get('sendInitialEvents') !== 'true') return
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    const metadata = { resourceVersion: String(this.#version), annotations }
    tell('BOOKMARK', { kind: place?.kind, apiVersion: place?.apiVersion, metadata })
  }
}

interface Place {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string | undefined
}

function placeOf(pathname: string): Place | undefined {
  const [, root = '', resource = '', name] =
    /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+(?=\/))?\/([^/]+)(?:\/([^/]+))?$/.exec(
      pathname,
    ) ?? []
  const kind = KINDS[root]?.[resource]
  return kind === undefined ? undefined : { apiVersion: root.replace(/^\/apis?\//, ''), kind, name }
}

/** What there is, as clients ask for it before anything else. */
function discovery(pathname: string): object | undefined {
  if (pathname === '/version') return { major: '1', minor: '33', gitVersion: 'v1.33.0' }
  if (pathname === '/api') return { kind: 'APIVersions', versions: ['v1'] }
  if (pathname === '/apis') {
    const groups = Object.keys(KINDS).filter((root) => root.startsWith('/apis/'))
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupOf) }
  }
  const openApi = openApiOf(pathname)
  if (openApi) return openApi
  const kinds = KINDS[pathname]
  if (!kinds) return undefined
  const resources = Object.entries(kinds).map(([name, kind]) => ({
    name,
    kind,
    singularName: kind.toLowerCase(),
    namespaced: kind !== 'Namespace',
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  }))
  const groupVersion = pathname.replace(/^\/apis?\//, '')
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources }
}

/** That the server checks fields itself, so that clients leave it to it. */
function openApiOf(pathname: string): object | undefined {
  const prefix = '/openapi/v3'
  if (pathname === prefix) {
    const paths = Object.keys(KINDS).map((root) => [root.slice(1), { serverRelativeURL: `${prefix}${root}` }])
    return { paths: Object.fromEntries(paths) }
  }
  const root = pathname.slice(prefix.length)
  const kinds = pathname.startsWith(prefix) ? KINDS[root] : undefined
  if (!kinds) return undefined
  const [version = '', group = ''] = root
    .replace(/^\/apis?\//, '')
    .split('/')
    .reverse()
  const paths = Object.entries(kinds).map(([resource, kind]) => {
    const parameters = [{ name: 'fieldValidation', in: 'query', schema: { type: 'string' } }]
    const patch = { parameters, 'x-kubernetes-group-version-kind': { group, version, kind } }
    return [`${root}/namespaces/{namespace}/${resource}/{name}`, { patch }]
  })
  return { openapi: '3.0.0', info: { title: 'stub', version: '1' }, paths: Object.fromEntries(paths) }
}

function groupOf(root: string): object {
  const [, , name = '', version = ''] = root.split('/')
  const both = { groupVersion: `${name}/${version}`, version }
  return { name, versions: [both], preferredVersion: both }
}

function statusOf(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message: reason, code }
}
