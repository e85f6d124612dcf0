/** What fencegate is compared with: @fastify/http-proxy as it comes, no fencing. Its argument is the upstream's port. */
import httpProxy from '@fastify/http-proxy'
import Fastify from 'fastify'

const app = Fastify()
app.register(httpProxy, { upstream: `http://127.0.0.1:${process.argv[2]}` })
const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.(Number(new URL(address).port))
process.once('disconnect', () => process.exit())
