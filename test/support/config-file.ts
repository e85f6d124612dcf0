/** A configuration file in a directory of its own, beside the certificates of `tls/`: loaded, or its faults told. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect } from 'vitest'
import { type ConfigSources, type LoadedConfig, loadConfig } from '../../src/config/load.ts'
import { EXIT, ExitError } from '../../src/errors.ts'

const TLS = path.join(import.meta.dirname, 'tls')

/** The faults that are reported, one a line. */
export function faultsIn(load: () => unknown): string[] {
  try {
    load()
  } catch (error) {
    expect(error).toBeInstanceOf(ExitError)
    expect((error as ExitError).exitCode).toBe(EXIT.usage)
    const [first, ...lines] = (error as ExitError).message.split('\n')
    expect(first).toContain(lines.length === 1 ? 'a fault' : `${lines.length} faults`)
    return lines.map((line) => line.trim())
  }
  return []
}

/** Made at the top of a test file; the directory goes away with it. */
export class ConfigDirectory {
  readonly path = fs.mkdtempSync(path.join(os.tmpdir(), 'fencegate-config-'))
  readonly file = path.join(this.path, 'fencegate.yaml')

  constructor() {
    for (const name of fs.readdirSync(TLS)) {
      if (name.endsWith('.pem')) fs.copyFileSync(path.join(TLS, name), path.join(this.path, name))
    }
    afterAll(() => fs.rmSync(this.path, { recursive: true }))
  }

  write(name: string, content: string | Uint8Array): void {
    fs.writeFileSync(path.join(this.path, name), content)
  }

  read(name: string): string {
    return fs.readFileSync(path.join(this.path, name), 'utf8')
  }

  /** Where the file has no `upstream` of its own, a valid one stands before it. */
  load(yaml: string, sources: Partial<ConfigSources> = {}): LoadedConfig {
    const upstream = 'upstream: { url: "http://127.0.0.1:9200" }\n'
    fs.writeFileSync(this.file, /^ *upstream:/m.test(yaml) ? yaml : upstream + yaml)
    return loadConfig({ file: this.file, env: {}, flags: {}, ...sources })
  }

  faultsOf(yaml: string, sources: Partial<ConfigSources> = {}): string[] {
    return faultsIn(() => this.load(yaml, sources))
  }

  /** Expects one fault, whose line begins with `start` and has `part` in it. */
  expectFault(yaml: string, start: string, part: string): void {
    const faults = this.faultsOf(yaml)
    expect(faults).toHaveLength(1)
    expect(faults[0]?.slice(0, start.length)).toBe(start)
    expect(faults[0]).toContain(part)
  }
}
