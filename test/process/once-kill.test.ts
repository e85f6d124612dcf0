/**
 * 200 attempts of one operation at once, by workers with different tokens, while the sidecar is killed and stopped in
 * the middle: it is applied once, or once more for each attempt that is on record as unknown, and never silently twice.
 * Each worker ends with the recorded answer or a definite refusal.
 */
import http from 'node:http'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { Provider, WORK_MS } from '../support/provider.ts'
import { Sidecar } from '../support/sidecar.ts'
import { seededRandom } from '../support/store-random.ts'

const WORKERS = 200
const TOKENS = 10
const ROUNDS = 2
const PATIENCE_MS = 45_000
const seed = Number(process.env.FENCEGATE_SEED ?? Math.floor(Math.random() * 2 ** 32))
const random = seededRandom(seed)
const between = (from: number, to: number) => from + random() * (to - from)

/** What the provider behind a route can do, and what the route does about it. */
const KINDS = [
  { route: 'own', idempotent: true, repeatUnknown: 'send' },
  { route: 'held', idempotent: false, repeatUnknown: 'hold' },
  { route: 'bare', idempotent: false, repeatUnknown: 'send' },
] as const
type Kind = (typeof KINDS)[number]

const providers = new Map<string, Provider>()
for (const { route, idempotent } of KINDS) providers.set(route, await Provider.start(idempotent, random))
afterAll(async () => {
  for (const provider of providers.values()) await provider.close()
})

let sidecar = await Sidecar.start({
  upstream: providers.get('own')?.url as string,
  config: {
    handoverTimeout: '2s',
    shutdown: { deadline: '60ms' },
    routes: KINDS.map(({ route, repeatUnknown }) => ({
      ...{ name: route, guard: 'once', match: { path: `/${route}/{task}` } },
      upstream: { url: providers.get(route)?.url as string },
      once: { repeatUnknown },
    })),
  },
})

/** Pending while no sidecar serves: workers that ask all the same would only keep it from starting. */
let serving: Promise<void> = Promise.resolve()

const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
afterAll(() => agent.destroy())

interface Told {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** One attempt; undefined if the connection ended before its answer did. */
function attempt(target: string, token: number, key: string): Promise<Told | undefined> {
  return new Promise((resolve) => {
    const headers = { 'Fencing-Token': String(token), 'Idempotency-Key': key, 'Content-Length': '2' }
    const options = { host: '127.0.0.1', port: sidecar.port, method: 'POST', path: target, headers, agent }
    const lost = () => resolve(undefined)
    const request = http.request(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk)).on('error', lost)
      response.on('end', () => {
        if (!response.complete) return lost()
        resolve({
          status: response.statusCode as number,
          body: JSON.parse(Buffer.concat(chunks).toString()),
        })
      })
    })
    request.on('error', lost).on('close', lost)
    request.end('{}')
  })
}

const DEFINITE = ['stale-token', 'operation-unknown', 'operation-done']

/** Attempts it until that is of no more use; resolves to what it was told last. */
async function work(target: string, token: number, key: string): Promise<Told> {
  const deadline = performance.now() + PATIENCE_MS
  await sleep(between(0, 300))
  for (;;) {
    await serving
    const told = await attempt(target, token, key)
    if (told?.status === 201 || DEFINITE.includes(told?.body.code as string)) return told as Told
    if (performance.now() > deadline) throw new Error(`still ${JSON.stringify(told)} (seed ${seed})`)
    await sleep(between(50, 250))
  }
}

/** Ends the process while a provider works at an attempt, and starts the next; in later rounds once more. */
async function interrupt(round: number): Promise<void> {
  const { received } = providers.get('bare') as Provider
  for (let kill = 0; kill <= round; kill++) {
    const before = received.length
    const deadline = performance.now() + 2000
    while (received.length === before && performance.now() < deadline) await sleep(2)
    // The first one is hit for sure: whatever comes of it is tried again, and on record.
    if (round > 0) await sleep(between(0, WORK_MS))
    const { promise, resolve: serve } = Promise.withResolvers<void>()
    serving = promise
    if ((round + kill) % 2 === 0) await sidecar.kill()
    else await sidecar.stop()
    sidecar = await sidecar.restart()
    serve()
  }
}

interface Ended {
  readonly kind: Kind
  readonly task: string
  readonly key: string
  readonly told: readonly Told[]
}

const ended: Ended[] = []

test.each(Array.from({ length: ROUNDS }, (_, i) => i))('round %i comes to an end', async (round) => {
  const working = KINDS.map(async (kind) => {
    const [task, key] = [`${kind.route}-${round}`, `key-${round}`]
    const told = await Promise.all(
      Array.from({ length: WORKERS }, (_, i) => work(`/${kind.route}/${task}`, 1 + (i % TOKENS), key)),
    )
    ended.push({ kind, task, key, told })
  })
  await Promise.all([...working, interrupt(round)])
})

test('each operation was applied once, or once more for each attempt on record as unknown', async () => {
  expect(await sidecar.stop()).toBe(0)
  const attempts = readAttempts(sidecar.data)
  const seen = { replayed: 0, unknown: 0, repeated: 0 }
  expect(ended).toHaveLength(KINDS.length * ROUNDS)
  for (const { kind, task, key, told } of ended) {
    const what = `${kind.route} ${task}, seed ${seed}`
    const provider = providers.get(kind.route) as Provider
    const own = attempts.filter((row) => row.route === kind.route && row.task === task)
    const unknown = own.filter(({ outcome }) => outcome === 'unknown').length
    const final = own.filter((row) => row.final === 1).length
    const received = provider.received.filter((other) => other === key).length
    const effects = provider.effects.filter((effect) => effect.key === key)
    const answers = new Set(told.filter(({ status }) => status === 201).map(({ body }) => body.id))

    expect(
      own.filter(({ outcome }) => outcome === 'open'),
      what,
    ).toEqual([])
    expect(received, what).toBeLessThanOrEqual(own.filter(({ outcome }) => outcome !== 'not-sent').length)
    expect(final, what).toBeLessThanOrEqual(1)
    expect(effects.length, `${what}: applied silently`).toBeLessThanOrEqual(final + unknown)
    expect(answers.size, what).toBe(final)
    if (final > 0)
      expect(
        effects.map(({ id }) => id),
        what,
      ).toContain([...answers][0])
    // Where the provider knows its repeats, or nothing is repeated blindly, there is one effect at most.
    if (kind.idempotent || kind.repeatUnknown === 'hold') expect(effects.length, what).toBeLessThanOrEqual(1)
    if (kind.repeatUnknown === 'send') expect(final, `${what}: never done`).toBe(1)
    // Whoever has the highest token is told the answer, or that the outcome is unknown.
    for (const { status, body } of told.filter((_, i) => i % TOKENS === TOKENS - 1)) {
      expect(status === 201 || body.code === 'operation-unknown', what).toBe(true)
    }
    seen.replayed += answers.size
    seen.unknown += unknown
    if (received > 1) seen.repeated++
  }
  // The interruptions did hit attempts.
  expect(seen.replayed, `seed ${seed}`).toBeGreaterThan(0)
  expect(seen.unknown, `seed ${seed}`).toBeGreaterThan(0)
  expect(seen.repeated, `seed ${seed}`).toBeGreaterThan(0)
})

function readAttempts(data: string) {
  const db = new DatabaseSync(path.join(data, 'marks.db'), { readOnly: true })
  try {
    return db.prepare('SELECT route, task, outcome, final FROM attempts').all()
  } finally {
    db.close()
  }
}
