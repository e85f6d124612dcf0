/** The resource, as cheap as it can be, so that the proxy is what is measured: answers 200 to every whole request. */
import net, { type AddressInfo } from 'node:net'

const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"stored":true}',
)
const HEAD_END = '\r\n\r\n'

const server = net.createServer({ noDelay: true }, (socket) => {
  let unread: Buffer = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes])
    for (let end = requestEnd(unread); end !== undefined; end = requestEnd(unread)) {
      unread = unread.subarray(end)
      socket.write(ANSWER)
    }
  })
  socket.on('error', () => {})
})

/** Where the first request ends; undefined while it isn't whole. */
function requestEnd(bytes: Buffer): number | undefined {
  const head = bytes.indexOf(HEAD_END)
  if (head === -1) return undefined
  const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, head))?.[1]
  if (length === undefined) throw new Error('a request without Content-Length')
  const end = head + HEAD_END.length + Number(length)
  return bytes.length < end ? undefined : end
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
