/**
 * Clients that have made one write and stay connected. Its arguments are the port and how many; it says `true` when all
 * have been served, and holds their connections until it is ended.
 */
import { once } from 'node:events'
import net from 'node:net'

const [port, count] = process.argv.slice(2).map(Number) as [number, number]
const AT_ONCE = 100
const WRITE =
  'PUT /idle HTTP/1.1\r\nHost: 127.0.0.1\r\nFencing-Task: idle\r\nFencing-Token: 1\r\nContent-Length: 2\r\n\r\n{}'

async function open(): Promise<void> {
  const socket = net.connect({ port, host: '127.0.0.1' })
  socket.write(WRITE)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  if (!answer.toString('latin1').startsWith('HTTP/1.1 200 ')) throw new Error(`not a 200: ${answer}`)
  socket.on('close', () => {
    throw new Error('an idle connection was closed')
  })
}

process.once('disconnect', () => process.exit())
for (let opened = 0; opened < count; opened += AT_ONCE) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - opened) }, open))
}
process.send?.(true)
