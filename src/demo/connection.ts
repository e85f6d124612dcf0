/**
 * An HTTP client that keeps one connection and says on which port it went out, so that the demo can tell
 * that a write used the old connection and not a new one.
 */
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'

export interface Reply {
  readonly status: number
  /** The parsed body; `undefined` if it isn't JSON. */
  readonly body: unknown
  readonly localPort: number
}

export class Connection {
  readonly #origin: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(origin: string) {
    this.#origin = origin
  }

  send(method: string, path: string, body?: object, headers: OutgoingHttpHeaders = {}): Promise<Reply> {
    const payload = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const outgoing = request(new URL(path, this.#origin), {
        method,
        agent: this.#agent,
        headers: payload === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      })
      outgoing.on('error', reject)
      outgoing.on('response', (response) => {
        // Read now: once the answer has ended, the socket belongs to the agent again.
        const localPort = response.socket.localPort ?? 0
        readBody(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, body: parse(text), localPort }),
          reject,
        )
      })
      outgoing.end(payload)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

async function readBody(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
