/** What a terminal sends in raw mode, as keys. A sequence that means nothing here is passed over whole. */
import type { Key } from './state.ts'

/** `leave`: a page, or the screen if there is none. */
export type Pressed = Key | 'leave' | 'quit' | 'suspend'

const KEYS: Readonly<Record<string, Pressed>> = {
  ...{ '\x1b[A': 'up', '\x1bOA': 'up', k: 'up', '\x1b[B': 'down', '\x1bOB': 'down', j: 'down' },
  ...{ '\x1b[5~': 'page-up', '\x1b[6~': 'page-down', ' ': 'page-down' },
  ...{ '\r': 'enter', '\n': 'enter', '\x1b[C': 'enter', '\x1bOC': 'enter' },
  ...{ '\x1b': 'back', '\x7f': 'back', '\x1b[D': 'back', '\x1bOD': 'back' },
  ...{ p: 'pause', q: 'leave', '\x03': 'quit', '\x04': 'quit', '\x1a': 'suspend' },
}

export function keysIn(text: string): Pressed[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const sequences = text.match(/\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|[\s\S]/g) ?? []
  return sequences.flatMap((sequence) => KEYS[sequence] ?? [])
}
