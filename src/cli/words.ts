/** Figures in words for a person: spans of time, sizes, and rows of names and values. */
import { plain } from './control.ts'

/** Coarse from a minute on: what is looked for then is the order of its length. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

export function size(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** Names in one column, values in the next. Rows whose value is undefined are left out. */
export function rows(pairs: readonly (readonly [name: string, value: string | undefined])[]): string[] {
  const shown = pairs.filter(([, value]) => value !== undefined)
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value = '']) => plain(`${name.padEnd(width)}  ${value}`))
}

/** A word for a shell, in quotes where it needs them. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
