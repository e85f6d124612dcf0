/** A control socket that answers as a test tells it to, where no sidecar is needed. */
import http from 'node:http'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryDirectory } from './temporary.ts'

export interface AnsweringSocket {
  /** Its data directory. */
  readonly data: string
  /** Method, target and body of each request so far. */
  readonly asked: readonly string[]
}

/** Goes with the test. */
export async function answering(listener: http.RequestListener): Promise<AnsweringSocket> {
  const data = temporaryDirectory()
  const asked: string[] = []
  const server = http.createServer((req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    req.on('end', () => {
      asked.push(`${req.method} ${req.url} ${body}`.trim())
      listener(req, res)
    })
  })
  await new Promise<void>((resolve) => server.listen(path.join(data, 'control.sock'), resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { data, asked }
}

/** Answers each list with its rows, two a page; `next` is the place of a page's last row. */
export function paging(lists: Readonly<Record<string, readonly object[]>>): http.RequestListener {
  return (req, res) => {
    const { pathname, searchParams } = new URL(req.url as string, 'http://sidecar')
    const list = pathname.slice('/v1/'.length)
    const after = Number(searchParams.get('after'))
    const rows = lists[list]?.slice(after, after + 2) ?? []
    res.end(JSON.stringify({ [list]: rows, ...(rows.length === 2 && { next: after + 2 }) }))
  }
}
