/**
 * The admin port's settings: where it listens, and the bearer tokens that may act. Of a token only its digest is kept,
 * and nothing of it is ever in a message.
 */
import { createHash } from 'node:crypto'
import type { AdminConfig, AdminToken, AdminTokens } from './config.ts'
import { type Faults, shown, ValueFault } from './faults.ts'
import type { ConfigFiles } from './files.ts'
import type { ConfigFile } from './schema.ts'
import { readSecret } from './secret-file.ts'

const LINE = /^([A-Za-z0-9._-]{1,64})[ \t]+([\x21-\x7e]{20,512})[ \t]*$/
const COMMENT = /^\s*(#|$)/

export function resolveAdmin(
  { tokenFile }: ConfigFile['admin'],
  listen: AdminConfig['listen'],
  files: ConfigFiles,
  faults: Faults,
): AdminConfig {
  if (tokenFile === undefined) return { listen, tokens: undefined }
  const tokens = faults.read('admin.tokenFile', undefined, () => readTokens(tokenFile, files))
  return { listen, tokens }
}

function readTokens(file: string, files: ConfigFiles): AdminTokens {
  const text = readSecret(file, 'a token', files)
  const { named, wrong } = parse(text)
  if (wrong.length > 0) throw new ValueFault(`${shown(file)}: ${wrong.join('; ')}`)
  if (named.length === 0) {
    throw new ValueFault(
      `${shown(file)} holds no token: write one line for each, a name, a space and the token, such as "ana" and what ` +
        '"openssl rand -hex 32" prints',
    )
  }
  return { named, othersMayRead: files.othersMayRead(file) }
}

/** Reads on after a fault, so that a person is told every line that is wrong. */
function parse(text: string): { named: AdminToken[]; wrong: string[] } {
  const named: AdminToken[] = []
  const wrong: string[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (COMMENT.test(line)) continue
    const [, name, token] = LINE.exec(line) ?? []
    const where = `line ${index + 1}`
    if (name === undefined || token === undefined) {
      wrong.push(
        `${where} is not a name of 1 to 64 letters, digits, ".", "_" or "-", a space and a token of 20 to 512 visible ` +
          'ASCII characters: write both on one line',
      )
      continue
    }
    const digest = createHash('sha256').update(token).digest()
    if (named.some((other) => other.name === name)) {
      wrong.push(`${where} names ${name} again: give each token a name of its own`)
    } else if (named.some((other) => other.digest.equals(digest))) {
      wrong.push(`${where}, ${name}, holds the token of another name: give each name a token of its own`)
    } else {
      named.push({ name, digest })
    }
  }
  return { named, wrong }
}
