/**
 * A resource that takes bodies slowly: it reads nothing for a while, then so many bytes a second, and answers 200 to the
 * whole request. Its argument is the rate.
 */
import net, { type AddressInfo, type Socket } from 'node:net'

const BYTES_PER_SECOND = Number(process.argv[2])
const STALL_MS = 2000
const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '0\r\n\r\n'
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'

const server = net.createServer((socket) => {
  socket.once('data', (bytes: Buffer) => serve(socket, bytes))
  socket.on('error', () => {})
})

/** The connection's only request, whose head is whole in its first bytes. */
function serve(socket: Socket, first: Buffer): void {
  const bodyAt = first.indexOf(HEAD_END) + HEAD_END.length
  if (bodyAt < HEAD_END.length) throw new Error('half a head')
  const length = /\r\ncontent-length: *(\d+)/i.exec(first.toString('latin1', 0, bodyAt))?.[1]
  let tail = ''
  let received = 0
  let since = 0
  const take = (bytes: Buffer) => {
    received += bytes.length
    tail = (tail + bytes.subarray(-LAST_CHUNK.length).toString('latin1')).slice(-LAST_CHUNK.length)
    if (length === undefined ? tail === LAST_CHUNK : received === Number(length)) socket.end(ANSWER)
    const aheadMs = (received / BYTES_PER_SECOND) * 1000 - (performance.now() - since)
    if (aheadMs <= 0) return
    socket.pause()
    setTimeout(() => socket.resume(), aheadMs)
  }
  socket.pause().on('data', take)
  setTimeout(() => {
    since = performance.now()
    take(first.subarray(bodyAt))
    socket.resume()
  }, STALL_MS)
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
