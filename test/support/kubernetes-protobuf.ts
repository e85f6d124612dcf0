/** The Secrets in which Helm keeps its releases, which it writes as protocol buffers: as much of them as a stub needs. */
import type { Manifest } from './helm.ts'

const MAGIC = 'k8s\0'

export function isProtobuf(body: Buffer): boolean {
  return body.toString('latin1', 0, MAGIC.length) === MAGIC
}

/** The numbers of fields are those of the API's generated.proto files. */
export function secretIn(body: Buffer): Manifest {
  const [object = Buffer.alloc(0)] = fields(body.subarray(MAGIC.length)).get(2) ?? []
  const secret = fields(object)
  const metadata = fields(first(secret, 1))
  const data = [...entries(secret.get(2))].map(([key, value]) => [key, value.toString('base64')])
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: first(metadata, 1).toString(),
      namespace: first(metadata, 3).toString(),
      labels: Object.fromEntries(
        [...entries(metadata.get(11))].map(([key, value]) => [key, value.toString()]),
      ),
    },
    data: Object.fromEntries(data),
    type: first(secret, 3).toString(),
  }
}

const first = (of: ReadonlyMap<number, Buffer[]>, number: number) => of.get(number)?.[0] ?? Buffer.alloc(0)

/** Maps are lists of pairs. */
function* entries(pairs: readonly Buffer[] = []): Generator<[string, Buffer]> {
  for (const pair of pairs) {
    const both = fields(pair)
    yield [first(both, 1).toString(), first(both, 2)]
  }
}

/** The fields that have a length, by number; numbers among them are skipped. */
function fields(message: Buffer): Map<number, Buffer[]> {
  const found = new Map<number, Buffer[]>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++] as number
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const tag = varint()
    const kind = tag % 8
    if (kind === 0) varint()
    else if (kind !== 2) throw new Error(`a field of wire type ${kind} at byte ${at}`)
    if (kind !== 2) continue
    const length = varint()
    const number = Math.floor(tag / 8)
    found.set(number, [...(found.get(number) ?? []), message.subarray(at, at + length)])
    at += length
  }
  return found
}
