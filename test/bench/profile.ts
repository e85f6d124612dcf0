/** Reads the profile that `node --cpu-prof` wrote, and says whose code the event loop ran. */
import fs from 'node:fs'
import path from 'node:path'
import { type Section, twoDigits } from './report.ts'

/** How many rows each table has. */
const ROWS = 15

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  /** Ids of nodes, one for each sample. */
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

/** Shares of the time in which the event loop wasn't idle, leaving out the first `skipMs` milliseconds. */
export function selfTimes(
  directory: string,
  skipMs: number,
): { functions: Section['rows']; places: Section['rows'] } {
  const { nodes, samples, timeDeltas } = mainThread(directory)
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const functions = new Map<string, number>()
  const places = new Map<string, number>()
  let elapsed = 0
  samples.forEach((id, i) => {
    const frame = frames.get(id) as CallFrame
    const microseconds = timeDeltas[i] as number
    elapsed += microseconds
    if (elapsed < skipMs * 1000 || frame.functionName === '(idle)') return
    add(places, placeOf(frame), microseconds)
    add(functions, `${frame.functionName || '(anonymous)'}  ${fileOf(frame)}`, microseconds)
  })
  return { functions: shares(functions, 'function'), places: shares(places, 'place') }
}

/** The file names end with process id, thread id and a sequence number. */
function mainThread(directory: string): Profile {
  const file = fs.readdirSync(directory).find((name) => /\.\d+\.0\.\d+\.cpuprofile$/.test(name))
  if (file === undefined) throw new Error(`no profile of a main thread in ${directory}`)
  return JSON.parse(fs.readFileSync(path.join(directory, file), 'utf8'))
}

function add(sums: Map<string, number>, key: string, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value)
}

function shares(sums: ReadonlyMap<string, number>, column: string) {
  const total = [...sums.values()].reduce((sum, one) => sum + one, 0)
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .slice(0, ROWS)
    .map(([key, sum]) => ({ [column]: key, '% of busy time': twoDigits((sum / total) * 100) }))
}

/** `src/proxy`, a package, a module of Node, or what has no file: native code, garbage collection. */
function placeOf({ functionName, url }: CallFrame): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'native functions'
  if (url.startsWith('wasm:')) return 'WebAssembly'
  if (url.startsWith('node:')) return url.replace(/^node:(internal\/)?([^/]+).*/, 'node:$2')
  const file = shorten(url)
  if (file.startsWith('dist/')) return path.dirname(file).replace('dist', 'src')
  return (/^(@[^/]+\/)?[^/]+/.exec(file) as RegExpExecArray)[0]
}

function fileOf({ url, lineNumber }: CallFrame): string {
  return url === '' ? '' : `${shorten(url)}:${lineNumber + 1}`
}

/** From the package's name on, or from `dist`. */
function shorten(url: string): string {
  const inPackage = url.lastIndexOf('/node_modules/')
  if (inPackage !== -1) return url.slice(inPackage + '/node_modules/'.length)
  return url.slice(url.lastIndexOf('/dist/') + 1)
}
