/** Reads the settings of an upstream, the file's own or a route's. */
import { parseHostName, parseOrigin } from './addresses.ts'
import type { Upstream, UpstreamAuth, UpstreamTls } from './config.ts'
import { readCredential } from './credential.ts'
import type { Faults } from './faults.ts'
import type { ConfigFiles } from './files.ts'
import { parseAuthHeader } from './header-fields.ts'
import { readCertificates, readIdentity } from './pem.ts'
import type { UpstreamFile } from './schema.ts'
import { parseDuration } from './values.ts'

const NO_TLS: UpstreamTls = { ca: undefined, cert: undefined, key: undefined, serverName: undefined }

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
  auth: undefined,
  tls: NO_TLS,
}

/** A route's may leave out anything. */
type OwnKeys = Partial<UpstreamFile>

export class UpstreamReader {
  readonly #files: ConfigFiles
  readonly #claimHeaders: readonly string[]
  readonly #faults: Faults

  constructor(files: ConfigFiles, claimHeaders: readonly string[], faults: Faults) {
    this.#files = files
    this.#claimHeaders = claimHeaders
    this.#faults = faults
  }

  /**
   * What `own` leaves out is `inherited`; but a credential and certificates are for one origin, so that with a
   * `url` of its own it inherits none of them.
   */
  read(own: OwnKeys, keyPath: string, inherited: Upstream): Upstream {
    const read = <T>(key: string, text: string | undefined, otherwise: T, parse: (text: string) => T): T =>
      text === undefined ? otherwise : this.#faults.read(`${keyPath}.${key}`, otherwise, () => parse(text))
    const duration = (key: string, text: string | undefined, otherwise: number) =>
      read(key, text, otherwise, parseDuration)
    const origin = read('url', own.url, inherited.origin, parseOrigin)
    const trusted = own.url === undefined ? inherited : NO_UPSTREAM
    return {
      origin,
      host: own.host ?? inherited.host,
      connections: own.connections ?? inherited.connections,
      connectTimeoutMs: duration('connectTimeout', own.connectTimeout, inherited.connectTimeoutMs),
      headersTimeoutMs: duration('headersTimeout', own.headersTimeout, inherited.headersTimeoutMs),
      bodyTimeoutMs: duration('bodyTimeout', own.bodyTimeout, inherited.bodyTimeoutMs),
      keepAliveTimeoutMs: duration('keepAliveTimeout', own.keepAliveTimeout, inherited.keepAliveTimeoutMs),
      forwardedHeaders: own.forwardedHeaders ?? inherited.forwardedHeaders,
      via: own.via ?? inherited.via,
      auth: own.auth === undefined ? trusted.auth : this.#auth(own.auth, `${keyPath}.auth`),
      tls: this.#tls(own.tls ?? {}, `${keyPath}.tls`, origin, trusted.tls),
    }
  }

  #auth({ header, file }: NonNullable<OwnKeys['auth']>, keyPath: string): UpstreamAuth {
    const name = this.#faults.read(`${keyPath}.header`, header, () =>
      parseAuthHeader(header, this.#claimHeaders),
    )
    if (file === undefined) {
      this.#faults.add(`${keyPath}.file`, 'is missing: name the file that holds the value of the field')
      return { header: name, value: '' }
    }
    const value = this.#faults.read(`${keyPath}.file`, '', () => readCredential(file, this.#files))
    return { header: name, value }
  }

  #tls(
    own: NonNullable<OwnKeys['tls']>,
    keyPath: string,
    origin: string,
    inherited: UpstreamTls,
  ): UpstreamTls {
    if (origin.startsWith('http:')) {
      for (const key of Object.keys(own)) {
        this.#faults.add(
          `${keyPath}.${key}`,
          `is of no effect, because ${origin} is not reached by TLS: write https in its url, or remove the key`,
        )
      }
      return inherited
    }
    const read = (key: 'ca' | 'serverName', parse: (text: string) => string) => {
      const text = own[key]
      return text === undefined
        ? inherited[key]
        : this.#faults.read(`${keyPath}.${key}`, undefined, () => parse(text))
    }
    const { cert, key } = readIdentity(own, keyPath, this.#files, this.#faults) ?? inherited
    return {
      ca: read('ca', (file) => readCertificates(file, this.#files)),
      cert,
      key,
      serverName: read('serverName', parseHostName),
    }
  }
}
