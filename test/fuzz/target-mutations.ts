/** What a request asks for: its target and its method. */
import { pick } from '../torture/random.ts'
import { field } from './draft.ts'
import { add } from './honest.ts'
import { TAG } from './input.ts'
import { drop, type Mutations, words } from './mutation.ts'

const TARGETS = [
  ...words(`
    http://127.0.0.1:1/x HTTP://a/x https://a/ //10.0.0.1/x * a:80 x ?a # /x#y /x%23y /%00 /%0d%0aX:y /<a> /a"b
    /settlements/${TAG}/x /%73ettlements/${TAG}/x /settlements/${TAG}%2f/x /settlements/${TAG}%31/x
    /settlements/${TAG}/../2/x /x/../settlements/${TAG}/x /settlements/${TAG};v=2/x /settlements/${TAG}\\x
    /settlements//x /settlements/ /SETTLEMENTS/${TAG}/x /settlements/${TAG}?/x /settlements/${TAG}/../x
    /open/x /open/../x /open/%2e%2e/x /open/..%2fx /open\\..\\x /open//../x /open/x?/../y /open/%252e%252e/x
    /%6fpen/x /x/..//open/x //open/x /./open/x /open%3fx /open?/x /Open/x /open;/x /open;v=1/../x
    /.well-known/fencegate/announce /.well-known/fencegate/x /.well-known%2ffencegate/announce
  `),
  ...['/\xc3\xa9\xff', '/a\xa0b', '/a\x85b', '/a\x7fb', `/${'a'.repeat(9000)}`],
  ...['/x HTTP/1.1\r\nHost: b\r\n\r\n', '/x HTTP/1.0', '/x y', '/x\tHTTP/1.1'],
]

const OVERRIDES = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X_Method_Override', 'x-method-override']

export const targetMutations: Mutations = {
  target(draft, random) {
    draft.target = pick(random, TARGETS)
    if (random() < 0.5) drop(draft, 'fencing-task')
  },
  'method override'(draft, random) {
    if (random() < 0.6) draft.method = pick(random, ['GET', 'POST', 'HEAD'])
    const other = pick(random, ['DELETE', 'delete', 'GET', '', 'GET, PUT', ' PUT', 'HEAD', 'PU\tT'])
    add(draft, random, field(pick(random, OVERRIDES), other))
    if (random() < 0.5) drop(draft, 'fencing-token')
  },
}
