/** `fencegate check-config`: what `serve` would run with, on one screen, without starting anything. */
import type { Command } from 'commander'
import { formatAddress } from '../config/addresses.ts'
import type { Config, Upstream } from '../config/config.ts'
import { describeRoutes } from '../config/describe.ts'
import { formatDuration, formatSize } from '../config/values.ts'
import { EXIT } from '../errors.ts'
import { addConfigOptions, type ConfigOptions, sourcesOf } from './config-options.ts'
import type { Ends } from './program.ts'

const EXAMPLES = `
Checks file, environment and flags as "serve" would, lists every fault at once and ends with 64 if there is one.

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
    ['listen', `${formatAddress(config.listen)} for data, ${formatAddress(config.admin.listen)} for admin`],
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
    ['refusals', config.revealHighest ? 'tell the highest token' : 'hide the highest token'],
    [
      'limits',
      `heads of ${formatSize(limits.headSizeBytes)} in ${formatDuration(limits.headTimeoutMs)}, ` +
        `idle connections ${formatDuration(limits.idleTimeoutMs)}`,
    ],
    [
      'shutdown',
      `serves on for ${formatDuration(shutdown.delayMs)}, open writes have ${formatDuration(shutdown.deadlineMs)}`,
    ],
    ['log', config.log.level],
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

function upstreamLine(upstream: Upstream): string {
  const adds = [upstream.forwardedHeaders && 'X-Forwarded-*', upstream.via && 'Via'].filter(Boolean)
  return (
    `${upstream.origin}, host ${upstream.host}, ${upstream.connections} connections, ` +
    `time-outs: connect ${formatDuration(upstream.connectTimeoutMs)}, ` +
    `head ${formatDuration(upstream.headersTimeoutMs)}, body ${formatDuration(upstream.bodyTimeoutMs)}, ` +
    `keep-alive ${formatDuration(upstream.keepAliveTimeoutMs)}` +
    `${adds.length > 0 ? `, adds ${adds.join(' and ')}` : ''}` +
    `${upstream.tls.ca === undefined ? '' : ', trusts its own CAs only'}`
  )
}
