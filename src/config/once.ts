/** Reads what a route with `guard: once` says of its operations, and what of it must agree. */
import type { OnceRule } from './config.ts'
import { type Faults, shown } from './faults.ts'
import { parseKeptHeader } from './header-fields.ts'
import { parsePointer } from './pointer.ts'
import type { OnceFile, RouteFile } from './schema.ts'
import { formatAge, parseAge, parseScope, parseSize } from './values.ts'

const MIB = 1024 ** 2

/** Held in memory whole, and in the store's rows. */
const MAX_BODY = 64 * MIB

/** What a faulty value is read on with; a configuration with faults is never seen. */
const UNREADABLE = 1

/** What only an operation gives a meaning to is a fault on other routes. */
export function resolveOnce(route: RouteFile, keyPath: string, faults: Faults): OnceRule | undefined {
  if (route.guard !== 'once' || route.once === undefined) {
    if (route.once !== undefined) {
      faults.add(`${keyPath}.once`, 'is of no effect without guard: once; set that, or remove the key')
    }
    if (route.token === 'optional') {
      faults.add(
        `${keyPath}.token`,
        'optional would let a write through that nothing guards: only with guard: once its operation key does; set ' +
          'that, or choose required',
      )
    }
    return undefined
  }
  checkRoute(route, keyPath, faults)
  const once = resolveKeys(route.once, `${keyPath}.once`, faults)
  const both = once.finalStatuses.find((status) => route.unknownStatuses.includes(status))
  if (both !== undefined && !faults.within(keyPath)) {
    faults.add(
      `${keyPath}.once.finalStatuses`,
      `${both} is in unknownStatuses as well, where it doesn't tell the outcome: take it off one of the lists`,
    )
  }
  return once
}

/** What no operation can have. */
function checkRoute({ mode, upgrades }: RouteFile, keyPath: string, faults: Faults): void {
  if (mode === 'observe') {
    faults.add(
      `${keyPath}.mode`,
      'observe forwards every repeat, and guard once must not: choose enforce, or observe with guard: fence first',
    )
  }
  if (upgrades.length > 0) {
    faults.add(
      `${keyPath}.upgrades`,
      "can't be allowed with guard: once, because an upgraded connection has no answer to keep: choose guard: fence, " +
        'or remove upgrades',
    )
  }
}

function resolveKeys(file: OnceFile, keyPath: string, faults: Faults): OnceRule {
  const age = (key: 'keyLifetime' | 'retention') =>
    faults.read(`${keyPath}.${key}`, UNREADABLE, () => parseAge(file[key]))
  const size = (key: 'keepBody' | 'maxBody', minimum: number) =>
    faults.read(`${keyPath}.${key}`, UNREADABLE, () => parseSize(file[key], minimum, MAX_BODY))
  const once: OnceRule = {
    scope: faults.read(`${keyPath}.scope`, '', () => parseScope(file.scope)),
    repeatUnknown: file.repeatUnknown,
    keyLifetimeMs: age('keyLifetime'),
    expired: file.expired,
    finalStatuses: file.finalStatuses,
    keepHeaders: resolveKeptHeaders(file.keepHeaders, `${keyPath}.keepHeaders`, faults),
    keepBodyBytes: size('keepBody', 0),
    redact: resolvePointers(file.redact, `${keyPath}.redact`, faults),
    maxBodyBytes: size('maxBody', 1),
    providerKey: file.providerKey,
    retentionMs: age('retention'),
  }
  if (once.retentionMs < once.keyLifetimeMs && !faults.within(keyPath)) {
    faults.add(
      `${keyPath}.retention`,
      `${file.retention} is shorter than keyLifetime: an operation would be forgotten while the provider still knows ` +
        `its key; write ${formatAge(once.keyLifetimeMs)} or more`,
    )
  }
  return once
}

function resolveKeptHeaders(names: readonly string[], keyPath: string, faults: Faults): string[] {
  // `forEach` passes over the holes that `check.ts` leaves.
  const kept: string[] = []
  names.forEach((text, index) => {
    const name = faults.read(`${keyPath}[${index}]`, text, () => parseKeptHeader(text))
    if (kept.includes(name)) {
      faults.add(
        `${keyPath}[${index}]`,
        `${shown(text)} is given twice, in different case: remove one of them`,
      )
    }
    kept.push(name)
  })
  return kept
}

function resolvePointers(pointers: readonly string[], keyPath: string, faults: Faults): string[] {
  const readable: string[] = []
  pointers.forEach((text, index) => {
    readable.push(faults.read(`${keyPath}[${index}]`, text, () => parsePointer(text)))
  })
  return readable
}
