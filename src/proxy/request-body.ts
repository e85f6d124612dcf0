/** Asking for a request's body; and having it as a whole, for those that must know it before they send a byte of it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { hasBody } from './headers.ts'
import { Upload, type UploadLimits } from './upload.ts'

/** Tells a client that waits for `100 Continue` to go on (RFC 9110, section 10.1.1). */
export function askForBody(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue()
}

/**
 * The body, at most `limits.bodySize` bytes. A client that waits for `100 Continue` is told to go on. Rejects with
 * a `BodyError`, the client's fault, or another error if it left or nobody wants the body any more.
 *
 * @param unwanted is given what to call then.
 */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  limits: UploadLimits,
  unwanted: (stop: () => void) => void,
): Promise<Buffer> {
  if (!hasBody(req)) return Buffer.alloc(0)
  // It left while the request waited for its turn, and won't say so again.
  if (req.destroyed) throw new Error('the client left before its body was read')
  askForBody(req, res)
  const upload = new Upload(req, limits, never, always)
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      const chunks: Buffer[] = []
      unwanted(() => reject(new Error('the body is not wanted any more')))
      upload.whenBegun(() => {
        upload
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => resolve(Buffer.concat(chunks)))
          .on('error', reject)
          .resume()
      }, reject)
    })
  } finally {
    upload.destroy()
  }
}

const never = () => false
const always = () => true
