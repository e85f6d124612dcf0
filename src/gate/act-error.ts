/** What an operator asked for makes no sense on things as they are; nothing was changed. */
export class ActError extends Error {
  override readonly name = 'ActError'
}
