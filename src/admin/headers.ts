/** The fields that every answer has, whatever it is: nothing of it is framed, sniffed, cached or read by other origins. */
const EVERYWHERE = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const

/** Of answers that are no page: they load nothing. */
export const API_HEADERS: Readonly<Record<string, string>> = {
  ...EVERYWHERE,
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** Of the dashboard: it loads its own files, and speaks to its own origin. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...EVERYWHERE,
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
