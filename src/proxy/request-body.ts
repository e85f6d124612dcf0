/** A request's body as a whole, for those that must know it before they send a byte of it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { hasBody } from './headers.ts'
import { SilenceError, TooLargeError, TrailerError, Upload, type UploadLimits } from './upload.ts'

/**
 * The body, at most `limits.bodySize` bytes. A client that waits for `100 Continue` is told to go on. Rejects with
 * the client's fault ({@link TooLargeError}, {@link SilenceError}, {@link TrailerError}), or another error if it left
 * or nobody wants the body any more.
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
  if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue()
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

/** Whether the client is there to be told what was wrong with its body. */
export function isClientFault(error: unknown): error is Error {
  return error instanceof TooLargeError || error instanceof SilenceError || error instanceof TrailerError
}
