/** An admin port that answers as a test tells it to, where no sidecar is needed. */
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface AnsweringPort {
  readonly url: string
  /** Method, target, token and body of each request so far. */
  readonly asked: readonly string[]
}

/** Goes with the test. @param tls its certificate and key: it is a proxy that ends TLS then. */
export async function answeringPort(
  listener: http.RequestListener,
  tls?: { cert: string; key: string },
): Promise<AnsweringPort> {
  const asked: string[] = []
  const answer: http.RequestListener = async (req, res) => {
    const body = (await req.setEncoding('utf8').toArray()).join('')
    const { authorization = 'no token' } = req.headers
    asked.push(`${req.method} ${req.url} ${authorization.replace('Bearer ', '')} ${body}`.trim())
    listener(req, res)
  }
  const server = tls ? https.createServer(tls, answer) : http.createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
