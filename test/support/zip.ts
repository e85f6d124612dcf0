/** One file out of a ZIP archive, of the plain kind: no encryption, no ZIP64. */
import zlib from 'node:zlib'

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const LOCAL_HEADER = 0x04034b50
const DEFLATED = 8

export function fileInZip(archive: Buffer, name: string): Buffer {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  expectSignature(archive, end, END_OF_DIRECTORY)
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
    expectSignature(archive, at, DIRECTORY_ENTRY)
    const nameEnd = at + 46 + archive.readUInt16LE(at + 28)
    if (archive.toString('utf8', at + 46, nameEnd) === name) return contentOf(archive, at)
    at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  throw new Error(`the archive holds no ${name}`)
}

function contentOf(archive: Buffer, entry: number): Buffer {
  const local = archive.readUInt32LE(entry + 42)
  expectSignature(archive, local, LOCAL_HEADER)
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
  const bytes = archive.subarray(start, start + archive.readUInt32LE(entry + 20))
  return archive.readUInt16LE(entry + 10) === DEFLATED ? zlib.inflateRawSync(bytes) : bytes
}

function expectSignature(archive: Buffer, at: number, signature: number): void {
  if (at < 0 || archive.readUInt32LE(at) !== signature) throw new Error(`no ZIP archive at byte ${at}`)
}
