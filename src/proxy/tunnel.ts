/**
 * A connection that has changed to another protocol (RFC 9110, section 7.8): bytes both ways, until both sides
 * have ended or somebody cuts it.
 *
 * Invariant: `done` is called once, when neither side can carry another byte: without an error if both ended in
 * order, which is all that can be told of what was in it.
 */
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { answerHeaders, decodeRaw, valuesOf } from './headers.ts'

/** How often a silent peer is asked whether it is still there. */
const KEEP_ALIVE_MS = 30_000

export class Tunnel {
  /** What the client asked for, in lower case. */
  readonly protocol: string
  readonly #client: Socket
  /** What the client sent ahead. */
  readonly #ahead: Buffer
  /** How long one side may take to end after the other. */
  readonly #lingerMs: number
  #resource: Duplex | undefined
  #error: Error | undefined

  constructor(protocol: string, client: Socket, ahead: Buffer, lingerMs: number) {
    this.protocol = protocol
    this.#client = client
    this.#ahead = ahead
    this.#lingerMs = lingerMs
  }

  /** Passes the resource's `101` on and joins the two sides. */
  open(resource: Duplex, rawHeaders: unknown, done: (error: Error | undefined) => void): void {
    this.#resource = resource
    const client = this.#client
    const sides = [client, resource] as const
    let open = sides.length
    for (const side of sides) {
      side.on('error', (error) => this.cut(error))
      side.once('close', () => {
        if (!side.readableEnded) this.cut(new Error('the connection was closed in the middle'))
        if (--open === 0) done(this.#error)
      })
    }
    const raw = decodeRaw(rawHeaders)
    const [protocol = ''] = valuesOf(raw, 'upgrade')
    if (protocol.toLowerCase() !== this.protocol) {
      return this.cut(new Error('the resource changed to a protocol that it was not asked for'))
    }
    client.setKeepAlive(true, KEEP_ALIVE_MS)
    ;(resource as Socket).setKeepAlive(true, KEEP_ALIVE_MS)
    client.write(switching(answerHeaders(raw, false), protocol), 'latin1')
    if (this.#ahead.length > 0) resource.write(this.#ahead)
    client.pipe(resource)
    resource.pipe(client)
    resource.once('end', () => {
      // It takes nothing more either: what the client still sends has nowhere to go.
      client.unpipe(resource)
      client.resume()
    })
    for (const side of sides) side.once('end', () => this.#endSoon())
  }

  /** Ends both sides at once. */
  cut(error: Error): void {
    this.#error ??= error
    this.#client.destroy()
    this.#resource?.destroy()
  }

  #endSoon(): void {
    const timer = setTimeout(
      () => this.cut(new Error('one side did not end after the other')),
      this.#lingerMs,
    )
    for (const side of [this.#client, this.#resource]) side?.once('close', () => clearTimeout(timer))
  }
}

function switching(headers: readonly string[], protocol: string): string {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${protocol}`]
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
