/**
 * What a user of the AWS SDK sees of a refusal. The SDK expects XML, so the error's message is about parsing; the
 * status stands in `$metadata`, and the problem document, whole, in the hidden field `$responseBodyText`.
 */
import { expect } from 'vitest'
import type { Problem } from '../support/scene.ts'

interface SdkError extends Error {
  readonly $metadata: { readonly httpStatusCode: number; readonly attempts?: number }
  readonly $responseBodyText: string
  readonly $response: { readonly headers: Readonly<Record<string, string>> }
}

/** Expects the operation to fail with a refusal of the sidecar's at this attempt, the last one, and returns it. */
export async function refusalOf(operation: Promise<unknown>, attempts = 1): Promise<Problem> {
  const error = (await operation.then(
    () => expect.unreachable('the operation was not refused'),
    (error: unknown) => error,
  )) as SdkError
  const { $metadata, $response, $responseBodyText } = error
  const problem = JSON.parse($responseBodyText) as Problem
  // Of a streamed body, which can't be sent again, the SDK doesn't say how often it was.
  expect([$metadata.httpStatusCode, $metadata.attempts ?? 1]).toEqual([problem.status, attempts])
  expect($response.headers['proxy-status']).toContain(`details="${problem.code}"`)
  return problem
}
