/** Reads the `tls` section: what the data port shows to clients, and what it asks of them. */
import type { DataPortTls } from './config.ts'
import type { Faults } from './faults.ts'
import type { ConfigFiles } from './files.ts'
import { readCertificates, readIdentity } from './pem.ts'
import type { ConfigFile } from './schema.ts'

/** `undefined`: the data port speaks plain HTTP. */
export function resolveTls(
  file: ConfigFile['tls'],
  files: ConfigFiles,
  faults: Faults,
): DataPortTls | undefined {
  const identity = readIdentity(file, 'tls', files, faults)
  const ca = file.clientCa
  const clientCa =
    ca === undefined ? undefined : faults.read('tls.clientCa', undefined, () => readCertificates(ca, files))
  if (identity) return { ...identity, clientCa, clientCertificate: file.clientCertificate }
  if (ca !== undefined && file.cert === undefined && file.key === undefined) {
    faults.add(
      'tls.cert',
      'is missing: without a certificate of its own the data port speaks plain HTTP and sees no client ' +
        'certificates; name cert and key, or remove clientCa',
    )
  }
  return undefined
}
