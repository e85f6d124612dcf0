/** Reads the settings of an upstream, the file's own or a route's. */
import { X509Certificate } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { parseOrigin } from './addresses.ts'
import type { Upstream } from './config.ts'
import { type Faults, shown, ValueFault } from './faults.ts'
import type { UpstreamFile } from './schema.ts'
import { parseDuration, parseFilePath } from './values.ts'

/** What a faulty setting of the file's `upstream` is read on with; such a configuration is never seen. */
export const NO_UPSTREAM: Upstream = {
  origin: '',
  host: 'rewrite',
  connections: 1,
  connectTimeoutMs: 1,
  headersTimeoutMs: 1,
  bodyTimeoutMs: 1,
  keepAliveTimeoutMs: 1,
  forwardedHeaders: false,
  via: false,
  tls: { ca: undefined },
}

/** What `own` leaves out is `inherited`. Paths in it are relative to `directory`. */
export function resolveUpstream(
  own: Partial<UpstreamFile>,
  keyPath: string,
  inherited: Upstream,
  directory: string,
  faults: Faults,
): Upstream {
  const read = <T>(key: string, text: string | undefined, otherwise: T, parse: (text: string) => T): T =>
    text === undefined ? otherwise : faults.read(`${keyPath}.${key}`, otherwise, () => parse(text))
  const duration = (key: string, text: string | undefined, otherwise: number) =>
    read(key, text, otherwise, parseDuration)
  return {
    origin: read('url', own.url, inherited.origin, parseOrigin),
    host: own.host ?? inherited.host,
    connections: own.connections ?? inherited.connections,
    connectTimeoutMs: duration('connectTimeout', own.connectTimeout, inherited.connectTimeoutMs),
    headersTimeoutMs: duration('headersTimeout', own.headersTimeout, inherited.headersTimeoutMs),
    bodyTimeoutMs: duration('bodyTimeout', own.bodyTimeout, inherited.bodyTimeoutMs),
    keepAliveTimeoutMs: duration('keepAliveTimeout', own.keepAliveTimeout, inherited.keepAliveTimeoutMs),
    forwardedHeaders: own.forwardedHeaders ?? inherited.forwardedHeaders,
    via: own.via ?? inherited.via,
    tls: {
      ca: read('tls.ca', own.tls?.ca, inherited.tls.ca, (file) =>
        readCertificates(path.resolve(directory, parseFilePath(file))),
      ),
    },
  }
}

/** PEM text in which every certificate can be read. */
function readCertificates(file: string): string {
  let pem: string
  try {
    pem = fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw new ValueFault(
      `cannot be read: ${(error as Error).message}; name a PEM file that this user may read`,
    )
  }
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g)
  try {
    for (const certificate of certificates ?? []) new X509Certificate(certificate)
  } catch (error) {
    throw new ValueFault(
      `${shown(file)} holds a damaged certificate (${(error as Error).message}); replace it`,
    )
  }
  if (!certificates) throw new ValueFault(`${shown(file)} holds no certificate; name a PEM file that does`)
  return pem
}
