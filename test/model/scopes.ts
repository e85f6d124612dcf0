/** The bounds within which the rules are explored: two writes or three for each holder, and what may go wrong. */
import type { Scope, WriteSpec } from './world.ts'

/** `A` holds token 1, `B` 2, `C` 3. */
function writes(names: string, as: Partial<WriteSpec> = {}): WriteSpec[] {
  return names.split(' ').map((name) => ({
    name,
    token: ' ABC'.indexOf(name[0] as string),
    holds: false,
    aborts: false,
    intent: as.holds ? 'always' : 'never',
    body: false,
    holder: 0,
    announces: false,
    ...as,
  }))
}

const NOTHING = { crashes: 0, cleanStops: 0, failures: 0, acts: 0 }

export const SCOPES: readonly Scope[] = [
  { ...NOTHING, name: 'drain', writes: writes('A1 A2 B1 B2', {body: true}), crashes: 2, failures: 1, cleanStops: 1 },
  { ...NOTHING, name: 'drain33', writes: writes('A1 A2 A3 B1 B2 B3'), crashes: 2, failures: 1, cleanStops: 0 },
  { ...NOTHING, name: 'abort', writes: [...writes('A1', {aborts: true, body: true}), ...writes('A2', {body: true}), ...writes('B1 B2')], crashes: 2, failures: 1, cleanStops: 1 },
  { ...NOTHING, name: 'hold', writes: writes('A1 A2 B1 B2', {holds: true, intent: 'always'}), crashes: 2, failures: 1, cleanStops: 1 },
  { ...NOTHING, name: 'intents', writes: writes('A1 A2 B1 B2', {intent: 'always'}), crashes: 2, failures: 1, cleanStops: 1 },
  { ...NOTHING, name: 'mixed', writes: [...writes('A1', {holds: true, intent: 'always'}), ...writes('A2'), ...writes('B1 B2')], crashes: 2, failures: 1, cleanStops: 1 },
  { ...NOTHING, name: 'later', writes: writes('A1 A2 B1 B2', {intent: 'after-restart'}), crashes: 3, failures: 0, cleanStops: 1 },
  { ...NOTHING, name: 'earlier', writes: writes('A1 A2 B1 B2', {intent: 'until-restart'}), crashes: 3, failures: 0, cleanStops: 1 },
  { ...NOTHING, name: 'acts', writes: writes('A1 A2 B1 B2'), crashes: 1, failures: 1, acts: 3 },
  { ...NOTHING, name: 'three', writes: [...writes('A1 A2 B1 C1')], crashes: 1, failures: 1, acts: 1 },
  { ...NOTHING, name: 'names', writes: [...writes('A1', {holder: 1}), ...writes('B1', {holder: 1}), ...writes('B2', {holder: 2}), ...writes('B3'), ...writes('B4', {announces: true})], crashes: 1, failures: 1, acts: 1 },
]
