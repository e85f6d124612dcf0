/** What the records keep of a write: where it was going, never what was in it. */
import type { Config, Route } from '../config/config.ts'
import type { WriteFacts } from '../journal/records.ts'
import type { Exchange } from './exchange.ts'

/** Characters of a target or operation key that a record keeps. */
const MAX_KEPT = 1024

export function writeFacts({ req, method }: Exchange, route: Route, { claim, records }: Config): WriteFacts {
  const target = req.url as string
  const operation = req.headers[claim.operationHeader]
  return {
    route: route.name,
    method,
    target: (records.hideQueryValues ? withoutQueryValues(target) : target).slice(0, MAX_KEPT),
    operation: typeof operation === 'string' ? operation.slice(0, MAX_KEPT) : undefined,
  }
}

function withoutQueryValues(target: string): string {
  const at = target.indexOf('?')
  if (at < 0) return target
  return target.slice(0, at) + target.slice(at).replace(/=[^&]*/g, '=')
}
