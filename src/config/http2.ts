/**
 * HTTP/2 and gRPC aren't spoken, and whoever asks for them is told so, rather than that a key is unknown or an
 * URL strange: otherwise a person would go on looking for the right spelling.
 */

export const NO_HTTP2 =
  'asks for HTTP/2 or gRPC, which are not spoken: remove it; the data port and the resource speak HTTP/1.1'

/** Whether a key that isn't one would have turned HTTP/2 or gRPC on. */
export function isHttp2Key(key: string): boolean {
  return /http[-_/]?2|grpc|^(allow|enable|use)?[-_]?h2c?$/i.test(key)
}

export function isHttp2Url(text: string): boolean {
  return /^(h2c?|grpcs?):/i.test(text)
}

/** Whether the name of a protocol, in lower case, is HTTP/2's or a later one's. */
export function isHttp2Protocol(name: string): boolean {
  return /^(h2c?|h3|http\/[2-9].*|grpc.*)$/.test(name)
}
