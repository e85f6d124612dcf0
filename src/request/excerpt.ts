/** A client's words within our own: quoted, escaped and cut, so that no answer or log line grows with them. */

const MAX_LENGTH = 64

export function excerpt(text: string): string {
  return JSON.stringify(text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}...`)
}
