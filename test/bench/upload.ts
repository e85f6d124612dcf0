/** What a large body to a slow resource costs: resident memory of the sidecar while the client sends as fast as it can. */
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { type BenchProcess, startServer, startSidecar } from './processes.ts'
import type { Scale, Section } from './report.ts'

const MEBI = 2 ** 20
const CHUNK = Buffer.alloc(256 * 1024, 'a body that the resource takes slowly ')
const SAMPLE_MS = 20

interface Upload {
  readonly fenced: boolean
  readonly chunked: boolean
}

export async function upload(scale: Scale): Promise<Section> {
  const bytes = (scale.quick ? 64 : 1024) * MEBI
  const bytesPerSecond = 64 * MEBI
  const rows = []
  for (const fenced of [true, false]) {
    for (const chunked of [false, true]) {
      rows.push(await measure({ fenced, chunked }, bytes, bytesPerSecond, scale))
    }
  }
  return {
    name: 'upload',
    title: `One body of ${bytes / MEBI} MiB to a resource that reads ${bytesPerSecond / MEBI} MiB/s: resident memory in MiB`,
    rows,
    notes: [
      'a new sidecar for each, after one small write; the client sends as fast as it is let',
      `sampled every ${SAMPLE_MS} ms; for its first two seconds the resource reads nothing`,
    ],
  }
}

async function measure(kind: Upload, bytes: number, rate: number, { directory, main }: Scale) {
  const resource = await startServer('upload-resource.ts', [String(rate)])
  const data = path.join(fs.mkdtempSync(path.join(directory, 'upload-')), 'data')
  const routes = [{ name: 'unfenced', match: { path: '/unfenced' }, guard: 'none' }]
  const sidecar = await startSidecar({ main, upstreamPort: resource.port, data, config: { routes } })
  await put(sidecar.port, kind, 1024)
  const before = sidecar.process.residentBytes
  const started = performance.now()
  const { peak } = await sampled(sidecar.process, put(sidecar.port, kind, bytes))
  const seconds = (performance.now() - started) / 1000
  for (const process of [sidecar.process, resource.process]) await process.end()
  return {
    request: kind.fenced ? 'fenced' : 'unfenced',
    framing: kind.chunked ? 'chunked' : 'content-length',
    seconds: Math.round(seconds),
    'RSS before': Math.round(before / MEBI),
    'at most': Math.round(peak / MEBI),
    growth: Math.round((peak - before) / MEBI),
  }
}

/** The most memory that the process had while `work` went on. */
async function sampled(process: BenchProcess, work: Promise<void>): Promise<{ peak: number }> {
  let peak = 0
  const sample = () => {
    peak = Math.max(peak, process.residentBytes)
  }
  const timer = setInterval(sample, SAMPLE_MS)
  await work.finally(() => clearInterval(timer))
  sample()
  return { peak }
}

async function put(port: number, { fenced, chunked }: Upload, bytes: number): Promise<void> {
  const req = http.request({
    port,
    host: '127.0.0.1',
    method: 'PUT',
    path: fenced ? '/fenced' : '/unfenced',
    headers: {
      'Fencing-Task': 'upload',
      'Fencing-Token': '1',
      ...(chunked ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': bytes }),
    },
  })
  const answered = once(req, 'response') as Promise<[http.IncomingMessage]>
  for (let left = bytes; left > 0; left -= CHUNK.length) {
    if (!req.write(CHUNK.subarray(0, left))) await Promise.race([once(req, 'drain'), answered])
  }
  req.end()
  const [res] = await answered
  if (res.statusCode !== 200) throw new Error(`the upload was answered ${res.statusCode}`)
  res.resume()
  await once(res, 'end')
}
