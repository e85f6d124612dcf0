/**
 * Damage inside a write-ahead log. SQLite takes the first frame whose checksum is wrong for the end of the log
 * and drops what follows: right for a commit that a power cut tore, and silent loss of acknowledged commits for
 * anything else.
 *
 * Each commit is fsynced before the next one is written, so a power cut can tear the last commit only. If more
 * than one commit follows the first bad frame, or began with it, the log is damaged.
 *
 * The format is SQLite's, https://www.sqlite.org/fileformat.html, section 4.
 */
import fs from 'node:fs'

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** The last bit tells the byte order of the words that are summed: 1 is big-endian. */
const MAGIC = 0x377f0682

interface Frame {
  /** Whether the running checksum up to this frame is right. */
  readonly sound: boolean
  /** Whether it ends a commit. */
  readonly commits: boolean
}

/** Whether acknowledged commits stand behind damage, where SQLite would not see them. */
export function hidesCommits(walFile: string): boolean {
  let sound = true
  let commitsBehind = 0
  for (const frame of framesOf(fs.readFileSync(walFile))) {
    sound &&= frame.sound
    if (!sound && frame.commits) commitsBehind++
  }
  return commitsBehind > 1
}

/** The frames of the log's current generation: those that carry its header's salts. */
function* framesOf(wal: Buffer): Generator<Frame> {
  if (wal.length < HEADER_BYTES || wal.readUInt32BE(0) >>> 1 !== MAGIC >>> 1) return
  const readWord = wal.readUInt32BE(0) & 1 ? 'readUInt32BE' : 'readUInt32LE'
  const pageBytes = wal.readUInt32BE(8)
  const salts = wal.subarray(16, 24)
  let sum: Sum = [0, 0]
  const add = (from: number, to: number) => {
    sum = checksum(sum, wal, from, to, readWord)
  }
  add(0, 24)
  for (let at = HEADER_BYTES; at + FRAME_HEADER_BYTES + pageBytes <= wal.length; ) {
    const page = at + FRAME_HEADER_BYTES
    const next = page + pageBytes
    if (wal.subarray(at + 8, at + 16).equals(salts)) {
      add(at, at + 8)
      add(page, next)
      const sound = wal.readUInt32BE(at + 16) === sum[0] && wal.readUInt32BE(at + 20) === sum[1]
      yield { sound, commits: wal.readUInt32BE(at + 4) !== 0 }
    }
    at = next
  }
}

type Sum = readonly [number, number]

function checksum(
  [first, second]: Sum,
  bytes: Buffer,
  from: number,
  to: number,
  readWord: 'readUInt32BE' | 'readUInt32LE',
): Sum {
  for (let at = from; at < to; at += 8) {
    first = (first + bytes[readWord](at) + second) >>> 0
    second = (second + bytes[readWord](at + 4) + first) >>> 0
  }
  return [first, second]
}
