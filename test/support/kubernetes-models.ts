/**
 * Manifests against the API of one version of Kubernetes: unknown fields and wrong types, by the tables in which the
 * official client says which fields each type has. It is what kubectl calls strict validation, without a cluster.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { Manifest } from './helm.ts'
import { fetched } from './npm-pack.ts'

/** The client's versions, by the Kubernetes that each was made from. */
const CLIENTS = {
  '1.27': {
    version: '0.19.0',
    integrity:
      'sha512-WTOjGuFQ8yeW3+qD6JrAYhpwpoQbe9R8cA/61WCyFrNawSTUgLstHu7EsZRYEs39er3jDn3wCEaczz+VOFlc2Q==',
  },
  '1.29': {
    version: '0.21.0',
    integrity:
      'sha512-yYRbgMeyQbvZDHt/ZqsW3m4lRefzhbbJEuj8sVXM+bufKrgmzriA2oq7lWPH/k/LQIicAME9ixPUadTrxIF6dQ==',
  },
  '1.30': {
    version: '0.22.3',
    integrity:
      'sha512-dG8uah3+HDJLpJEESshLRZlAZ4PgDeV9mZXT0u1g7oy4KMRzdZ7n5g0JEIlL6QhK51/2ztcIqURAnjfjJt6Z+g==',
  },
  '1.33': {
    version: '1.3.0',
    integrity:
      'sha512-IE0yrIpOT97YS5fg2QpzmPzm8Wmcdf4ueWMn+FiJSI3jgTTQT1u+LUhoYpdfhdHAVxdrNsaBg2C0UXSnOgMoCQ==',
  },
  '1.34': {
    version: '1.4.0',
    integrity:
      'sha512-Zge3YvF7DJi264dU1b3wb/GmzR99JhUpqTvp+VGHfwZT+g7EOOYNScDJNZwXy9cszyIGPIs0VHr+kk8e95qqrA==',
  },
} as const

export type ModelVersion = keyof typeof CLIENTS

interface Field {
  readonly baseName: string
  readonly type: string
}

/** Where the table of a type's fields stands, which is JSON, in the client's compiled file. */
const TABLE = /\.attributeTypeMap = (\[[\s\S]*?\n\]);/

const PRIMITIVES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  IntOrString: (value) => typeof value === 'string' || Number.isInteger(value),
  any: () => true,
  object: (value) => typeof value === 'object' && value !== null,
}

export class KubernetesModels {
  readonly #directory: string
  readonly #types = new Map<string, readonly Field[]>()

  constructor(of: ModelVersion) {
    const client = { name: '@kubernetes/client-node', ...CLIENTS[of] }
    this.#directory = fetched(client, (tarball, to) => {
      const models = ['--strip-components=4', '--wildcards', '*/dist/gen/model*/*.js']
      execFileSync('tar', ['-xzf', tarball, '-C', to, ...models])
    })
  }

  /** What is wrong with a manifest of the built-in kinds, each with the path of its field. */
  faults(manifest: Manifest): string[] {
    return this.#check(manifest, `V1${manifest.kind}`, `${manifest.kind} ${manifest.metadata.name}`)
  }

  #check(value: unknown, type: string, at: string): string[] {
    const item = /^Array<(.*)>$/.exec(type)?.[1]
    if (item !== undefined) {
      if (!Array.isArray(value)) return [`${at} is no list`]
      return value.flatMap((each, i) => this.#check(each, item, `${at}[${i}]`))
    }
    const isPrimitive = PRIMITIVES[type]
    if (isPrimitive) return isPrimitive(value) ? [] : [`${at} is no ${type}: ${JSON.stringify(value)}`]
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${at} is no mapping`]
    const mapped = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1]
    const fields = mapped === undefined ? this.#fieldsOf(type) : []
    return Object.entries(value).flatMap(([name, each]) => {
      const known = mapped ?? fields.find(({ baseName }) => baseName === name)?.type
      return known === undefined ? [`${at}.${name} is unknown`] : this.#check(each, known, `${at}.${name}`)
    })
  }

  #fieldsOf(type: string): readonly Field[] {
    let fields = this.#types.get(type)
    if (!fields) {
      const names = [type, type.replace(/^V/, 'v')].map((name) => path.join(this.#directory, `${name}.js`))
      const file = names.find((name) => fs.existsSync(name))
      const table = file && TABLE.exec(fs.readFileSync(file, 'utf8'))?.[1]
      if (!table) throw new Error(`the client has no table of ${type}`)
      fields = JSON.parse(table) as Field[]
      this.#types.set(type, fields)
    }
    return fields
  }
}
