/**
 * All states met so far, each once, numbered in the order in which they were met: some 40 bytes a state.
 */
export class StateTable {
  readonly width: number
  size = 0
  /** State `n` is at `n * width`. */
  words: Uint32Array
  #slots = new Int32Array(1 << 16).fill(-1)

  constructor(width: number) {
    this.width = width
    this.words = new Uint32Array(width << 14)
  }

  /** The state's number; it is new if that equals the size before. */
  add(state: Uint32Array): number {
    let slot = hash(state, 0, this.width) & (this.#slots.length - 1)
    for (;;) {
      const found = this.#slots[slot] as number
      if (found === -1) break
      if (this.#is(found, state)) return found
      slot = (slot + 1) & (this.#slots.length - 1)
    }
    const number = this.size++
    if (this.size * this.width > this.words.length) this.#grow()
    this.words.set(state, number * this.width)
    this.#slots[slot] = number
    if (this.size * 2 > this.#slots.length) this.#rehash()
    return number
  }

  #is(number: number, state: Uint32Array): boolean {
    const at = number * this.width
    for (let i = 0; i < this.width; i++) if (this.words[at + i] !== state[i]) return false
    return true
  }

  #grow(): void {
    const words = new Uint32Array(this.words.length * 2)
    words.set(this.words)
    this.words = words
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1)
    for (let number = 0; number < this.size; number++) {
      let slot = hash(this.words, number * this.width, this.width) & (slots.length - 1)
      while (slots[slot] !== -1) slot = (slot + 1) & (slots.length - 1)
      slots[slot] = number
    }
    this.#slots = slots
  }
}

/** Murmur3's mixing, word by word. */
function hash(words: Uint32Array, from: number, width: number): number {
  let h = 0x9747b28c
  for (let i = from; i < from + width; i++) {
    let k = Math.imul(words[i] as number, 0xcc9e2d51)
    k = (k << 15) | (k >>> 17)
    h ^= Math.imul(k, 0x1b873593)
    h = (h << 13) | (h >>> 19)
    h = (Math.imul(h, 5) + 0xe6546b64) | 0
  }
  h ^= h >>> 16
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** A list of numbers below 2^31 that grows. */
export class Numbers {
  #numbers = new Int32Array(1 << 12)
  #length = 0

  push(number: number): void {
    if (this.#length === this.#numbers.length) {
      const numbers = new Int32Array(this.#length * 2)
      numbers.set(this.#numbers)
      this.#numbers = numbers
    }
    this.#numbers[this.#length++] = number
  }

  get all(): Int32Array {
    return this.#numbers.subarray(0, this.#length)
  }
}
