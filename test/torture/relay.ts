/**
 * A process between two others: relays TCP, and drops what passes while the path is cut. Two paths: `front`, from
 * workers to the sidecar, and `back`, from the sidecar to the resource.
 *
 * Invariant: it never delivers bytes of a connection whose sender has ended it, nor after bytes that were sent
 * later on another: within one turn of the event loop ends are passed on first. A relay that kept a cut write's
 * bytes for later would be a hop that queues, and void the sidecar's promise.
 */
import net, { type AddressInfo, type Socket } from 'node:net'

export type PathName = 'front' | 'back'
/** `blackhole`: bytes and ends vanish; `refuse`: connections are ended, and no new one is taken. */
export type Cut = 'blackhole' | 'refuse'

export type RelayOrder =
  | { readonly order: 'target'; readonly path: PathName; readonly port: number }
  | { readonly order: 'cut'; readonly path: PathName; readonly how: Cut }
  | { readonly order: 'heal'; readonly path: PathName }
export interface RelayReady {
  readonly ready: Readonly<Record<PathName, number>>
}

class Pair {
  readonly #near: Socket
  readonly #far: Socket
  readonly #path: Path
  /** Something of it was dropped: its two ends disagree. */
  lossy = false

  constructor(near: Socket, far: Socket, path: Path) {
    this.#near = near
    this.#far = far
    this.#path = path
    this.#relay(near, far)
    this.#relay(far, near)
  }

  reset(): void {
    for (const socket of [this.#near, this.#far]) if (!socket.destroyed) socket.resetAndDestroy()
    this.#path.pairs.delete(this)
  }

  #relay(from: Socket, to: Socket): void {
    let waiting: Buffer[] = []
    const flush = () => {
      const bytes = waiting
      waiting = []
      if (this.#path.cut) this.lossy = true
      else if (!to.destroyed && !to.write(Buffer.concat(bytes))) from.pause()
    }
    from.on('data', (chunk: Buffer) => {
      if (waiting.push(chunk) === 1) setImmediate(flush)
    })
    to.on('drain', () => from.resume())
    from.on('end', () => {
      if (this.#path.cut) this.lossy = true
      // The resource may end its side behind an answer, which is still on its way. A client's end is the end.
      else if (from === this.#far) setImmediate(() => to.end())
      else this.#close()
    })
    from.on('error', () => {
      if (this.#path.cut) this.lossy = true
      else this.reset()
    })
    from.on('close', () => {
      if (to.destroyed) this.#path.pairs.delete(this)
    })
  }

  #close(): void {
    this.#near.destroy()
    this.#far.destroy()
    this.#path.pairs.delete(this)
  }
}

class Path {
  readonly pairs = new Set<Pair>()
  readonly #server = net.createServer({ allowHalfOpen: true, noDelay: true }, (near) => this.#take(near))
  target = 0
  cut: Cut | undefined
  port = 0

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    this.port = (this.#server.address() as AddressInfo).port
  }

  cutOff(how: Cut): void {
    this.cut = how
    if (how === 'blackhole') return
    if (this.#server.listening) this.#server.close()
    for (const pair of [...this.pairs]) pair.reset()
  }

  heal(): void {
    if (!this.#server.listening) void this.listen(this.port)
    this.cut = undefined
    for (const pair of [...this.pairs]) if (pair.lossy) pair.reset()
  }

  #take(near: Socket): void {
    const far = net.connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    this.pairs.add(new Pair(near, far, this))
  }
}

const paths: Record<PathName, Path> = { front: new Path(), back: new Path() }

process.on('message', (message: RelayOrder) => {
  const path = paths[message.path]
  if (message.order === 'target') path.target = message.port
  else if (message.order === 'cut') path.cutOff(message.how)
  else path.heal()
})
process.on('disconnect', () => process.exit())

await Promise.all(Object.values(paths).map((path) => path.listen(0)))
process.send?.({ ready: { front: paths.front.port, back: paths.back.port } } satisfies RelayReady)
