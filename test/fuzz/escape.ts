/** Bytes as text for people: one line of source in a JavaScript string, and back. */

const SHORT: Readonly<Record<string, string>> = {
  '\r': '\\r',
  '\n': '\\n',
  '\t': '\\t',
  '\\': '\\\\',
  "'": "\\'",
}

/** As it would stand between single quotes. */
export function escaped(bytes: Buffer | string): string {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('latin1')
  return text.replace(
    /[^ -~]|[\\']/g,
    (char) => SHORT[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}
