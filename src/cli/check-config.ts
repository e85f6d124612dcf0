/** `fencegate check-config`: what `serve` would run with, on one screen, without starting anything. */
import type { Command } from 'commander'
import { formatAddress } from '../config/addresses.ts'
import type { Config, Limits, Upstream } from '../config/config.ts'
import {
  describeAdmin,
  describeCertificate,
  describeClients,
  describeOperations,
  describeRoutes,
  describeTls,
} from '../config/describe.ts'
import { formatAge, formatDuration, formatSize } from '../config/values.ts'
import { EXIT } from '../errors.ts'
import { addConfigOptions, type ConfigOptions, sourcesOf } from './config-options.ts'
import type { Ends } from './program.ts'

const EXAMPLES = `
Checks file, environment and flags as "serve" would, and lists every fault at once.

Exit codes: 0 valid, 64 bad usage or faults.

Examples:
  fencegate check-config --config fencegate.yaml
  fencegate check-config --upstream http://127.0.0.1:9200`

export function addCheckConfig(program: Command, ends: Ends): void {
  addConfigOptions(program.command('check-config'))
    .description('Check the configuration, and show what is fenced and what is not.')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ConfigOptions) => {
      const { loadConfig } = await import('../config/load.ts')
      const { config, warnings } = loadConfig(sourcesOf(options))
      for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
      process.stdout.write(`${summary(config).join('\n')}\n`)
      ends(EXIT.ok)
    })
}

function summary(config: Config): string[] {
  const { store, claim, limits, shutdown } = config
  const jump = claim.maxTokenJump === undefined ? 'any jump' : `jumps of at most ${claim.maxTokenJump}`
  const rows = [
    [
      'listen',
      `${formatAddress(config.listen)} for data, ${formatAddress(config.admin.listen)} for admin: ${describeAdmin(config)}`,
    ],
    ['tls', describeTls(config)],
    ...describeClients(config).map((line, index) => [index === 0 ? 'clients' : '', line]),
    ['upstream', upstreamLine(config.upstream)],
    ...config.routes
      .filter(({ upstream }) => upstream !== config.upstream)
      .map(({ name, upstream }) => [`  of ${name}`, upstreamLine(upstream)]),
    [
      'store',
      `${store.path}, create ${store.create}, lock wait ${formatDuration(store.lockWaitMs)}, ` +
        `time-out ${formatDuration(store.timeoutMs)}, ${store.cachedTasks} idle tasks in memory`,
    ],
    [
      'claim',
      `${claim.taskHeader}, ${claim.tokenHeader}, ${claim.holderHeader}; tokens up to ${claim.maxToken}, ${jump}`,
    ],
    [
      'handover',
      `waits ${formatDuration(config.handoverTimeoutMs)}, cuts after ${formatDuration(config.drainLimitMs)}, ` +
        `grace after an unclean stop ${formatDuration(config.restartGraceMs)}`,
    ],
    ...describeOperations(config).map((line, index) => [index === 0 ? 'operations' : '', line]),
    ['journal', `kept ${formatAge(config.journal.maxAgeMs)}, ${config.journal.maxRows} entries at most`],
    ['refusals', config.revealHighest ? 'tell the highest token' : 'hide the highest token'],
    [
      'limits',
      `heads of ${formatSize(limits.headSizeBytes)} and ${limits.headerCount} fields in ` +
        `${formatDuration(limits.headTimeoutMs)}, bodies of ${bodySize(limits)}, ` +
        `at least ${formatSize(limits.bodyRateBytesPerSecond)} a second while others wait`,
    ],
    [
      '',
      `${limits.connections} connections, idle ones ${formatDuration(limits.idleTimeoutMs)}; ` +
        `open writes ${limits.openWrites}, ${limits.openWritesPerTask} of a task; ` +
        `${limits.waitersPerTask} of a task waiting`,
    ],
    [
      'shutdown',
      `serves on for ${formatDuration(shutdown.delayMs)}, open writes have ${formatDuration(shutdown.deadlineMs)}`,
    ],
    ['log', config.log.level],
    ['reload', `on SIGHUP${looks(config.reloadIntervalMs)}`],
  ]
  const width = Math.max(...rows.map(([label = '']) => label.length))
  return [
    'The configuration is valid.',
    '',
    ...rows.map(([label = '', text]) => `${label.padEnd(width)}  ${text}`),
    '',
    'Routes, the first match wins:',
    ...describeRoutes(config).map((line) => `  ${line}`),
  ]
}

function bodySize({ bodySizeBytes }: Limits): string {
  return bodySizeBytes === undefined ? 'any size' : `at most ${formatSize(bodySizeBytes)}`
}

function looks(intervalMs: number): string {
  return intervalMs === 0
    ? ' alone'
    : `, and when a file has changed, looked at every ${formatDuration(intervalMs)}`
}

/** The credential itself is never shown. */
function upstreamLine({ tls, auth, ...upstream }: Upstream): string {
  const parts = [
    upstream.origin,
    `host ${upstream.host}`,
    `${upstream.connections} connections`,
    `time-outs: connect ${formatDuration(upstream.connectTimeoutMs)}`,
    `head ${formatDuration(upstream.headersTimeoutMs)}`,
    `body ${formatDuration(upstream.bodyTimeoutMs)}`,
    `keep-alive ${formatDuration(upstream.keepAliveTimeoutMs)}`,
    upstream.forwardedHeaders && 'adds X-Forwarded-*',
    upstream.via && 'adds Via',
    auth && `sets ${auth.header} to its credential`,
    tls.ca !== undefined && 'trusts its own CAs only',
    tls.serverName !== undefined && `is ${tls.serverName} in TLS`,
    tls.cert !== undefined && `is shown the ${describeCertificate(tls.cert)}`,
  ]
  return parts.filter(Boolean).join(', ')
}
