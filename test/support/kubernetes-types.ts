/**
 * Manifests against the newest API, and the Prometheus operator's: as TypeScript, for unknown and missing fields and wrong
 * types, and by the schemas beside the types, for formats and patterns.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { Manifest } from './helm.ts'
import { ROOT } from './sources.ts'

const moduleOf = ({ apiVersion }: Manifest) =>
  apiVersion.startsWith('monitoring.')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`

/** What the compiler says of all of them together; nothing if they are right. */
export function typeFaults(manifests: readonly Manifest[]): string {
  const cache = path.join(ROOT, 'node_modules/.cache/fencegate')
  fs.mkdirSync(cache, { recursive: true })
  const directory = fs.mkdtempSync(path.join(cache, 'types-'))
  try {
    const lines = manifests.map((manifest, i) => {
      const type = `import("${moduleOf(manifest)}").I${manifest.kind}`
      return `export const m${i}: ${type} = ${JSON.stringify(manifest, null, 1)}\n`
    })
    const file = path.join(directory, 'manifests.ts')
    fs.writeFileSync(file, lines.join('\n'))
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext']
    const { stdout, error } = spawnSync('tsc', [...options, '--types', '', file], { encoding: 'utf8' })
    if (error) throw error
    return stdout
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

/** Throws what the schema of its kind refuses. */
export async function requireSchema(manifest: Manifest): Promise<void> {
  const kinds = await import(moduleOf(manifest))
  new kinds[manifest.kind](manifest).validate()
}
