/**
 * Comparing header names without making new strings: this runs for every header of every request.
 *
 * Servers that hand headers on as variables (CGI, WSGI and their like) read `_` as `-`, so two names that
 * differ only there are one name to them, and are one here.
 */

const HYPHEN = 45
const UNDERSCORE = 95

/** Whether a resource could take `name` for `field`: case aside, and with `_` read as `-`. */
export function namesField(name: string, field: string): boolean {
  if (name.length !== field.length) return false
  for (let i = 0; i < name.length; i++) {
    if (folded(name.charCodeAt(i)) !== folded(field.charCodeAt(i))) return false
  }
  return true
}

/** The members of a field's comma-separated list, in lower case (RFC 9110, section 5.6.1); empty ones are none. */
export function membersOf(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
}

function folded(code: number): number {
  if (code === UNDERSCORE) return HYPHEN
  return code >= 65 && code <= 90 ? code + 32 : code
}
