/**
 * The bounds within which every interleaving is explored: who writes what, and what may go wrong how often.
 * `FENCEGATE_MODEL=large` gives A and B one more write, and one more crash and failure to all.
 */
import type { Scope, WriteSpec } from './words.ts'

/** Writes of A (token 1), B (2) and C (3), by name. */
function writes(names: string, as: Partial<WriteSpec> = {}): WriteSpec[] {
  return names.split(' ').map((name) => ({
    name,
    token: ' ABC'.indexOf(name.charAt(0)),
    holds: false,
    aborts: false,
    intent: as.holds ? 'always' : 'never',
    body: false,
    holder: 0,
    announces: false,
    ...as,
  }))
}

const HOLDS = { holds: true } as const
const ABORTS = { aborts: true, body: true } as const
const INTENDS = { intent: 'always' } as const

const SMALL = { crashes: 2, cleanStops: 1, failures: 1, acts: 0 }

const scopes = {
  drain: { ...SMALL, writes: writes('A1 A2 B1 B2') },
  'drain, more writes': { ...SMALL, cleanStops: 0, writes: writes('A1 A2 A3 B1 B2 B3') },
  bodies: { ...SMALL, writes: writes('A1 A2 B1 B2', { body: true }) },
  abort: { ...SMALL, writes: [...writes('A1', ABORTS), ...writes('A2', { body: true }), ...writes('B1 B2')] },
  'abort with intents': {
    ...SMALL,
    writes: [...writes('A1', { ...ABORTS, ...INTENDS }), ...writes('A2 B1 B2', INTENDS)],
  },
  hold: { ...SMALL, writes: writes('A1 A2 B1 B2', HOLDS) },
  'hold, more writes': { ...SMALL, cleanStops: 0, writes: writes('A1 A2 B1 B2 B3', HOLDS) },
  'hold and operators': {
    ...SMALL,
    crashes: 1,
    cleanStops: 0,
    failures: 0,
    acts: 2,
    writes: writes('A1 A2 B1 B2', HOLDS),
  },
  'hold for some': { ...SMALL, writes: [...writes('A1', HOLDS), ...writes('A2 B1 B2')] },
  intents: { ...SMALL, writes: writes('A1 A2 B1 B2', INTENDS) },
  'intents after a restart': {
    ...SMALL,
    crashes: 3,
    writes: writes('A1 A2 B1 B2', { intent: 'after-restart' }),
  },
  'intents until a restart': {
    ...SMALL,
    crashes: 3,
    writes: writes('A1 A2 B1 B2', { intent: 'until-restart' }),
  },
  operators: { ...SMALL, crashes: 1, cleanStops: 0, acts: 3, writes: writes('A1 A2 B1 B2') },
  'three holders': { ...SMALL, cleanStops: 0, failures: 0, writes: writes('A1 A2 B1 B2 C1 C2') },
  'three holders that hold': { ...SMALL, cleanStops: 0, writes: writes('A1 B1 B2 C1', HOLDS) },
  'named holders': {
    ...SMALL,
    crashes: 1,
    cleanStops: 0,
    acts: 1,
    writes: [
      ...writes('A1'),
      ...writes('B1', { holder: 1 }),
      ...writes('B2', { holder: 2 }),
      ...writes('B3', { announces: true }),
    ],
  },
} satisfies Record<string, Omit<Scope, 'name'>>

export type ScopeName = keyof typeof scopes

export const SCOPES = Object.fromEntries(
  Object.entries(scopes).map(([name, scope]) => [name, { ...scope, name }]),
) as unknown as Readonly<Record<ScopeName, Scope>>

/** The same scope with room for more. */
export function enlarged(scope: Scope): Scope {
  const last = new Map(scope.writes.filter((write) => write.token < 3).map((write) => [write.token, write]))
  const more = [...last.values()].map((write) => ({ ...write, name: `${write.name}'` }))
  return {
    ...scope,
    writes: [...scope.writes, ...more],
    crashes: Math.min(3, scope.crashes + 1),
    failures: scope.failures + 1,
  }
}
