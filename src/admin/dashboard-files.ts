/** The dashboard's files, and the two of uPlot that it loads: read from the package, never from elsewhere. */
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { PAGE_HEADERS } from './headers.ts'

const FOLDER = path.join(import.meta.dirname, 'dashboard')
const UPLOT = path.dirname(fileURLToPath(import.meta.resolve('uplot/dist/uPlot.min.css')))

export async function addDashboard(on: FastifyInstance): Promise<void> {
  await on.register(fastifyStatic, {
    root: FOLDER,
    prefix: '/',
    dotfiles: 'deny',
    cacheControl: false,
    // A route for each file that there is, and none for any other path.
    wildcard: false,
    globIgnore: ['tsconfig.json'],
    setHeaders: (reply) => void reply.headers(PAGE_HEADERS),
  })
  for (const file of ['uPlot.esm.js', 'uPlot.min.css']) {
    on.get(`/vendor/${file}`, { schema: { hide: true } }, (_request, reply) => reply.sendFile(file, UPLOT))
  }
}
