/** The routes of a checked tree: names, what they match, and whether each can ever match. */
import type { Route, RouteMatch, Upstream } from './config.ts'
import { type Faults, shown, step } from './faults.ts'
import { parseHeaderValue, parseRefusalHeader } from './header-fields.ts'
import { resolveOnce } from './once.ts'
import { covers, parsePathTemplate } from './path-template.ts'
import type { RouteFile } from './schema.ts'
import { parseMethod, parseProtocol, parseRouteName } from './values.ts'

/** The name of the route that takes what no other one matches. */
export const DEFAULT_ROUTE = 'default'

/** Settings of a route that say nothing are those of the file. */
type ResolveUpstream = (own: RouteFile['upstream'], keyPath: string) => Upstream

/** The last of `files` is the default route; an entry that the schema refused is a hole. */
export function resolveRoutes(
  files: readonly RouteFile[],
  faults: Faults,
  resolveUpstream: ResolveUpstream,
): Route[] {
  const routes: Route[] = []
  const readable: Route[] = []
  files.forEach((file, index) => {
    const keyPath = `routes[${index}]`
    const isDefault = index === files.length - 1
    const route: Route = {
      name: isDefault ? DEFAULT_ROUTE : resolveName(file.name, keyPath, routes, faults),
      match: resolveMatch(file.match, `${keyPath}.match`, faults),
      guard: file.guard,
      token: file.token,
      once: resolveOnce(file, keyPath, faults),
      mode: file.mode,
      handover: file.handover,
      onUnknown: file.onUnknown,
      intent: file.onUnknown === 'hold' || file.guard === 'once' ? 'durable' : file.intent,
      unknownStatuses: file.unknownStatuses,
      upgrades: resolveUpgrades(file.upgrades, `${keyPath}.upgrades`, faults),
      upstream: resolveUpstream(file.upstream, `${keyPath}.upstream`),
      forwardClaim: file.forwardClaim,
      refusalFormat: file.refusalFormat,
      refusalHeaders: resolveRefusalHeaders(file.refusalHeaders, `${keyPath}.refusalHeaders`, faults),
    }
    routes.push(route)
    if (route.handover === 'abort' && route.onUnknown === 'hold') {
      faults.add(
        `${keyPath}.handover`,
        'abort cuts writes off, and onUnknown hold then keeps the next holder out until each is resolved: ' +
          'choose drain with hold, or abort with proceed',
      )
    }
    if (route.upgrades.length > 0 && route.onUnknown === 'hold') {
      faults.add(
        `${keyPath}.upgrades`,
        "can't be allowed with onUnknown hold: an upgraded connection is cut at every handover, its outcome is then " +
          'unknown, and the next holder is kept out each time; choose proceed, or remove upgrades',
      )
    }
    if (isDefault || faults.within(`${keyPath}.match`)) return
    const cover = readable.find((earlier) => covers(earlier.match, route.match))
    if (cover) {
      faults.add(
        keyPath,
        `never matches, because route ${shown(cover.name)} before it takes all its requests: move it up or remove it`,
      )
    }
    readable.push(route)
  })
  return routes
}

function resolveName(
  text: string | undefined,
  keyPath: string,
  routes: readonly Route[],
  faults: Faults,
): string {
  const namePath = `${keyPath}.name`
  if (text === undefined) {
    faults.add(namePath, 'is missing: name the route, it shows in metrics and logs')
    return keyPath
  }
  const name = faults.read(namePath, keyPath, () => parseRouteName(text))
  if (name === DEFAULT_ROUTE) {
    faults.add(namePath, `"${DEFAULT_ROUTE}" is the last route's, which is always there: choose another name`)
  } else if (routes.some((earlier) => earlier.name === name)) {
    faults.add(namePath, `${shown(name)} is taken by a route before it: give each its own name`)
  }
  return name
}

function resolveMatch({ methods, path }: RouteFile['match'], keyPath: string, faults: Faults): RouteMatch {
  methods?.forEach((method, index) => {
    faults.read(`${keyPath}.methods[${index}]`, method, () => parseMethod(method))
  })
  return {
    methods: methods && [...methods],
    path: path === undefined ? path : faults.read(`${keyPath}.path`, path, () => parsePathTemplate(path)),
  }
}

function resolveUpgrades(protocols: RouteFile['upgrades'], keyPath: string, faults: Faults): string[] {
  // `forEach` passes over the holes that `check.ts` leaves.
  const readable: string[] = []
  protocols.forEach((protocol, index) => {
    readable.push(faults.read(`${keyPath}[${index}]`, '', () => parseProtocol(protocol)))
  })
  return readable
}

function resolveRefusalHeaders(
  headers: RouteFile['refusalHeaders'],
  keyPath: string,
  faults: Faults,
): Readonly<Record<string, string>> {
  const resolved = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const fieldPath = `${keyPath}${step(name)}`
    const field = faults.read(fieldPath, name, () => parseRefusalHeader(name))
    if (resolved.has(field)) faults.add(fieldPath, 'is given twice, in different case: remove one of them')
    resolved.set(
      field,
      faults.read(fieldPath, '', () => parseHeaderValue(value)),
    )
  }
  return Object.fromEntries(resolved)
}
