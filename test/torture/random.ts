/** Choices that come again with the same seed. */
import { seededRandom } from '../support/store-random.ts'

export type Random = () => number

/** A stream of its own for each name under a seed, so that one more choice here changes nothing there. */
export function randomFor(seed: number, name: string): Random {
  let mixed = seed >>> 0
  for (const char of name) mixed = (Math.imul(mixed ^ char.charCodeAt(0), 0x01000193) + 0x9e3779b9) >>> 0
  return seededRandom(mixed)
}

export const pick = <T>(random: Random, items: readonly T[]): T =>
  items[Math.floor(random() * items.length)] as T

export const between = (random: Random, from: number, to: number): number =>
  Math.floor(from + random() * (to - from))
