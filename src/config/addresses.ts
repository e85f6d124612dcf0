/** Where fencegate listens, and where it forwards to. */
import net from 'node:net'
import type { Address } from './config.ts'
import { shown, ValueFault } from './faults.ts'
import { isHttp2Url, NO_HTTP2 } from './http2.ts'

const ADDRESS = /^(?:\[([^[\]]*)\]|([^:[\]]*)):(\d{1,5})$/
export const HOST_NAME =
  /^(?=.{1,253}$)(?!(.*\.)?\d+$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/

/** `HOST:PORT`; an IPv6 address stands in brackets. */
export function parseAddress(text: string): Address {
  const [, bracketed, plain, digits] = ADDRESS.exec(text) ?? []
  if (digits === undefined) throw new ValueFault(noAddress(text))
  const host = bracketed ?? (plain as string)
  const isHost = bracketed === undefined ? net.isIPv4(host) || HOST_NAME.test(host) : net.isIPv6(host)
  if (!isHost) throw new ValueFault(noAddress(text))
  const port = Number(digits)
  if (port > 65_535) throw new ValueFault(`${shown(text)} has no such port: write one from 0 to 65535`)
  return { host, port }
}

/** A DNS name, in lower case. */
export function parseHostName(text: string): string {
  if (HOST_NAME.test(text)) return text.toLowerCase()
  throw new ValueFault(
    `${shown(text)} is not a host name: write one such as store.internal, without scheme or port`,
  )
}

function noAddress(text: string): string {
  if (net.isIPv6(text.replace(/:\d+$/, '')) || net.isIPv6(text)) {
    return `${shown(text)} is not an address HOST:PORT: put the IPv6 address in brackets, such as [::1]:8470`
  }
  if (text.startsWith(':')) {
    return `${shown(text)} names no host: write 127.0.0.1${text}, or 0.0.0.0${text} for every interface`
  }
  return `${shown(text)} is not an address HOST:PORT: write one such as 127.0.0.1:8470 or [::1]:8470`
}

export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

const WILDCARDS = ['0.0.0.0', '::']

/** Whether both can't be listened on at once. */
export function collide(a: Address, b: Address): boolean {
  if (a.port !== b.port || a.port === 0) return false
  return a.host === b.host || WILDCARDS.includes(a.host) || WILDCARDS.includes(b.host)
}

/** The origin of an upstream. Credentials in the text are never repeated in a message. */
export function parseOrigin(text: string): string {
  if (text.includes('@')) {
    throw new ValueFault(
      'holds "@": credentials are not taken from a URL, and it has no path: write http://HOST:PORT alone',
    )
  }
  if (isHttp2Url(text)) throw new ValueFault(`${shown(text)} ${NO_HTTP2}`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) throw new ValueFault(`${shown(text)} is not a URL: write one such as http://127.0.0.1:9200`)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new ValueFault(`${shown(text)} is neither http nor https: write one such as http://127.0.0.1:9200`)
  }
  if (!/^https?:\/\/[^/?#\\\s]+\/?$/i.test(text)) {
    throw new ValueFault(
      `${shown(text)} has a path, a query or a fragment: write ${url.origin} alone, because each request's own ` +
        'target goes through byte for byte',
    )
  }
  if (url.port === '0') throw new ValueFault(`${shown(text)} has no such port: write one from 1 to 65535`)
  return url.origin
}

/** Whether requests to `origin` would come back to the port at `listen`. */
export function leadsTo(origin: string, listen: Address): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, hostname, port } = new URL(origin)
  const to = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  }
  if (to.port !== listen.port) return false
  return (
    loopbackName(to.host) === loopbackName(listen.host) ||
    (isHere(to.host) && WILDCARDS.includes(listen.host))
  )
}

/** Whether only this machine can reach what listens there. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host) || /^::ffff:127\./i.test(host)
}

function isHere(host: string): boolean {
  return WILDCARDS.includes(host) || host === 'localhost' || host === '::1' || /^127\./.test(host)
}

function loopbackName(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host
}
