/** What is valid of the admin port's settings but probably not meant. */
import { formatAddress, isLoopbackHost } from './addresses.ts'
import type { Config } from './config.ts'

export function adminWarnings({ admin: { listen, tokens } }: Config): string[] {
  const warnings: string[] = []
  const isLocal = isLoopbackHost(listen.host)
  if (!isLocal && tokens) {
    warnings.push(
      `admin.listen: bearer tokens cross the network in the clear: ${formatAddress(listen)} is reached from other hosts, ` +
        'and the admin port has no TLS. Listen on 127.0.0.1, or put what ends TLS before it.',
    )
  }
  if (!isLocal && !tokens) {
    warnings.push(
      `admin.listen: only health and metrics are served on ${formatAddress(listen)}, because other hosts reach it and ` +
        'admin.tokenFile is not set. Set it for the API and the dashboard, or listen on 127.0.0.1.',
    )
  }
  if (tokens?.othersMayRead) {
    warnings.push(
      'admin.tokenFile: every user of this machine may read the tokens in it: take that away with "chmod o-r".',
    )
  }
  return warnings
}
