/**
 * The composition root: builds every part once, in order, and closes them in reverse. Only this file names a
 * concrete store.
 *
 * ```
 * start: admin port -> store (lock, proof) -> gate -> data port
 * stop:  delay -> no new connections -> open writes end, or are cut at the deadline -> store -> admin port
 * ```
 */
import closeWithGrace from 'close-with-grace'
import { type Logger, pino } from 'pino'
import { AdminPort } from './admin/admin-port.ts'
import { AdminApi } from './admin/api.ts'
import { ControlPort } from './admin/control-port.ts'
import type { InForce, LastReload, Phase, Running, Sources } from './admin/sources.ts'
import { monotonicClock } from './clock.ts'
import type { Address, Config, Route } from './config/config.ts'
import { describeRoutes } from './config/describe.ts'
import type { LoadedConfig } from './config/load.ts'
import { Reloader, type ReloadReport } from './config/reloader.ts'
import { EXIT, ExitError } from './errors.ts'
import { Gate } from './gate/gate.ts'
import { Operator } from './gate/operator.ts'
import { Usage } from './gate/usage.ts'
import { Journal } from './journal/journal.ts'
import { Metrics } from './metrics/metrics.ts'
import { DataPort } from './proxy/data-port.ts'
import type { MarkStore, StoreOrigin } from './store/mark-store.ts'
import { openSqliteMarkStore } from './store/sqlite-mark-store.ts'
import { readTracing } from './tracing/environment.ts'
import type { Spans } from './tracing/spans.ts'
import { version } from './version.ts'

/** For how long a stop waits for spans to be sent, within what is left of its deadline. */
const SPANS_MS = 3000

export interface Sidecar {
  readonly data: Address
  readonly admin: Address
  /** Reads the configuration again, and takes new requests by it if it can. `cause` is for the log. */
  reload(cause: string): Promise<void>
  /** Stops as SIGTERM does. Resolves to whether no write was cut. */
  stop(): Promise<boolean>
}

/**
 * Starts the sidecar and stays until a signal stops it; the process then ends. SIGHUP has `load` read the
 * configuration again; `reloadAsked` says whether it came before anybody could. Throws {@link ExitError}.
 */
export async function runSidecar(
  loaded: LoadedConfig,
  load: () => LoadedConfig,
  reloadAsked: () => boolean,
): Promise<number> {
  const { config, warnings } = loaded
  const log = pino({ level: config.log.level, base: { version } })
  for (const warning of warnings) log.warn(warning)
  const started = await startSidecar(loaded, load, log, (error) => {
    log.fatal(error.message)
    process.exit(error.exitCode)
  })
  const reload = () => void started.reload('SIGHUP')
  process.on('SIGHUP', reload)
  if (reloadAsked()) reload()
  log.info(
    { data: show(started.data), admin: show(started.admin), routes: describeRoutes(config) },
    'listening',
  )
  closeWithGrace({ delay: false, logger: false, skip: ['SIGHUP'] }, async ({ err, signal }) => {
    if (err) {
      log.fatal({ err }, 'unexpected error')
      process.exit(err instanceof ExitError ? err.exitCode : EXIT.invariant)
    }
    log.info({ signal }, 'stopping')
    const clean = await started.stop()
    log.info({ clean }, 'stopped')
  })
  return new Promise(() => {})
}

/**
 * @param onFatal called if the store fails in a way that only an end of the process answers.
 */
export async function startSidecar(
  loaded: LoadedConfig,
  load: () => LoadedConfig,
  log: Logger,
  onFatal: (error: ExitError) => void,
): Promise<Sidecar> {
  const { config } = loaded
  const clock = monotonicClock
  const spans = await startSpans(log)
  let phase: Phase = 'starting'
  let store: MarkStore | undefined
  let gate: Gate | undefined
  let dataPort: DataPort | undefined

  const metrics = new Metrics(version, {
    openWrites: () => gate?.inFlight.size ?? 0,
    oldestOpenWriteSeconds: () => {
      const since = gate?.inFlight.oldestSince
      return since === undefined ? 0 : (clock.now() - since) / 1000
    },
    handoversPending: () => gate?.view.handoversPending ?? 0,
    tasks: () => store?.counts().tasks ?? 0,
    frozenTasks: () => store?.counts().frozen ?? 0,
    unresolvedOutcomes: () => store?.counts().unresolved ?? 0,
    commitSequence: () => store?.counts().commitSequence ?? 0,
    storeCreatedSeconds: () => (store?.origin.createdAtMs ?? 0) / 1000,
  })
  let running: Running | undefined
  let inForce: InForce = { ...loaded, file: loaded.files[0], lastReload: undefined }
  const sources: Sources = {
    clock,
    metrics,
    startedAtMs: Date.now(),
    phase: () => phase,
    grace: () => gate?.inGrace ?? false,
    running: () => running,
    configuration: () => inForce,
    upstreams: () => dataPort?.upstreams ?? [],
    failed: (err) => log.error({ err }, 'a request to the admin API failed'),
    noted: (facts, message) => log.warn(facts, message),
  }
  const api = new AdminApi(sources)
  const adminPort = new AdminPort({ api, sources, tokens: () => inForce.config.admin.tokens })
  const admin = await bind(config.admin.listen, 'admin.listen', () => adminPort.listen(config.admin.listen))
  try {
    store = await openSqliteMarkStore(
      {
        directory: config.store.path,
        create: config.store.create,
        lockWaitMs: config.store.lockWaitMs,
        intentsComplete: recordsAllIntents(config.routes),
      },
      onFatal,
    )
  } catch (error) {
    await adminPort.close()
    throw error
  }
  const openStore = store
  announce(openStore, config, log)
  const journal = new Journal({
    append: (entries) => openStore.commit([{ kind: 'journal', entries }]),
    prune: (limits) => openStore.prune(limits),
    limits: config.journal,
    clock,
    dropped: () => metrics.journalDropped(),
  })
  const usage = new Usage(openStore, clock)
  gate = new Gate({
    store: openStore,
    clock,
    handoverTimeoutMs: config.handoverTimeoutMs,
    drainLimitMs: config.drainLimitMs,
    graceMs: needsGrace(openStore.origin) ? config.restartGraceMs : 0,
    storeTimeoutMs: config.store.timeoutMs,
    cachedTasks: config.store.cachedTasks,
    maxTokenJump: config.claim.maxTokenJump,
    limits: config.limits,
    observer: {
      raised: (ms) => metrics.raised(ms),
      handedOver: (ms, task, token) => {
        metrics.handedOver(ms)
        journal.note({ kind: 'handover', task, token, data: { ms: Math.round(ms) } })
      },
      used: (task) => usage.used(task),
    },
  })
  const openGate = gate
  dataPort = new DataPort({ config, gate: openGate, journal, metrics, spans, clock, log })
  const openPort = dataPort
  const operator = new Operator({ gate, store, usage, clock, maxToken: config.claim.maxToken })
  const controlPort = new ControlPort(config.store.controlSocket, api, sources.failed)
  let data: Address
  try {
    await controlPort.listen()
    data = await bind(config.listen, 'listen', () => openPort.listen())
  } catch (error) {
    await controlPort.close()
    await openGate.close()
    await usage.close()
    await journal.close()
    await openStore.close(!openStore.origin.unclean)
    await adminPort.close()
    throw error
  }
  running = { store, view: gate.view, operator }
  phase = 'serving'
  const reloader = new Reloader({
    loaded,
    load,
    apply: async (next) => {
      // Before the first write without an intent: a crash right after it must not waive the grace.
      if (!recordsAllIntents(next.routes)) await openStore.commit([{ kind: 'without-intents' }])
      openPort.reload(next)
      inForce = { ...inForce, config: next }
    },
    report: reloadReport(log, metrics, (lastReload, warnings) => {
      inForce = { ...inForce, lastReload, ...(warnings && { warnings }) }
    }),
  })

  return {
    data,
    admin,
    reload: (cause) => reloader.reload(cause),
    async stop() {
      phase = 'stopping'
      await reloader.close()
      await elapsed(config.shutdown.delayMs)
      openPort.stopAccepting()
      const deadline = clock.now() + config.shutdown.deadlineMs
      const isIdle = () => openPort.owed === 0 && openGate.inFlight.size === 0 && api.actsUnderWay === 0
      await ended(isIdle, config.shutdown.deadlineMs)
      const clean = openGate.quiet
      await openPort.close()
      running = undefined
      api.close()
      await controlPort.close()
      await openGate.close()
      await usage.close()
      await journal.close()
      await openStore.close(clean)
      await spans?.close(Math.min(SPANS_MS, Math.max(0, deadline - clock.now())))
      await adminPort.close()
      return clean
    },
  }
}

/** What records spans is loaded only if somebody wants them. */
async function startSpans(log: Logger): Promise<Spans | undefined> {
  const settings = readTracing(process.env)
  if (!settings) return undefined
  const otlp = await import('./tracing/otlp.ts')
  return otlp.startSpans(settings, version, log)
}

function reloadReport(
  log: Logger,
  metrics: Metrics,
  keep: (last: LastReload, warnings?: readonly string[]) => void,
): ReloadReport {
  return {
    applied(cause, warnings) {
      keep({ atMs: Date.now(), cause, result: 'applied' }, warnings)
      metrics.reloaded(true)
      for (const warning of warnings) log.warn(warning)
      log.info({ cause }, 'a new configuration is in force')
    },
    unchanged(cause) {
      keep({ atMs: Date.now(), cause, result: 'unchanged' })
      metrics.reloaded(true)
      log.info({ cause }, 'the configuration is the one in force')
    },
    refused(cause, message) {
      keep({ atMs: Date.now(), cause, result: 'refused', message })
      metrics.reloaded(false)
      log.error({ cause, message }, 'the new configuration is refused; the one before stays in force')
    },
  }
}

function announce(opened: MarkStore, config: Config, log: Logger): void {
  const { origin } = opened
  const store = { path: config.store.path, ...opened.counts() }
  if (origin.created) {
    log.warn({ store }, 'a new, empty store was made: if a store was here before, its marks are lost')
  }
  if (origin.migrated) {
    const { from, copy } = origin.migrated
    log.warn(
      { store, copy },
      `the store was brought from schema ${from} to this version's; as it was, it is in ${copy}`,
    )
  }
  if (needsGrace(origin)) {
    log.warn(
      { store, restartGraceMs: config.restartGraceMs },
      'the last stop was unclean: handovers wait for restartGrace, current holders are served',
    )
  } else if (origin.unclean) {
    log.warn({ store }, 'the last stop was unclean: every write that was open is on record as unknown')
  }
}

/** After an unclean stop writes may still be at work in the resource, unless each that could be is on record. */
function needsGrace({ unclean, intentsWereComplete }: StoreOrigin): boolean {
  return unclean && !intentsWereComplete
}

/** Whether every write that can be sent has an intent on record first. */
function recordsAllIntents(routes: readonly Route[]): boolean {
  const last = routes.findIndex(({ match }) => match.methods === undefined && match.path === undefined)
  return routes
    .slice(0, last + 1)
    .every(({ guard, mode, intent }) => guard === 'none' || (mode === 'enforce' && intent === 'durable'))
}

async function bind(address: Address, key: string, listen: () => Promise<Address>): Promise<Address> {
  try {
    return await listen()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'the port is in use' : message
    throw new ExitError(
      EXIT.unavailable,
      `${key}: can't listen on ${show(address)}: ${why}. Choose another address, or stop what holds this one.`,
      { cause: error },
    )
  }
}

function show({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Resolves when `done`, or after `ms` milliseconds. */
async function ended(done: () => boolean, ms: number): Promise<void> {
  const deadline = performance.now() + ms
  while (!done() && performance.now() < deadline) await elapsed(20)
}
