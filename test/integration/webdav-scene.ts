/** One sidecar before one nginx, shared by a file's tests. Under `/open/` a route says that PROPFIND is a read. */
import { expect } from 'vitest'
import { Sidecar } from '../support/sidecar.ts'
import { WebdavServer } from './webdav-server.ts'

export interface WebdavScene {
  readonly server: WebdavServer
  readonly sidecar: Sidecar
  readonly decided: (decision: string) => Promise<number>
  /** Expects the disk, and the requests that reached nginx, to be after `act` what they were before. */
  readonly expectUntouched: (act: () => Promise<unknown>) => Promise<void>
}

/** Called at the top of a test file. */
export async function webdavScene(): Promise<WebdavScene> {
  const server = await WebdavServer.start()
  const sidecar = await Sidecar.start({
    upstream: server.url,
    config: {
      // COPY and MOVE name their destination with the host that the client knows, and nginx compares it with Host.
      upstream: { host: 'preserve' },
      routes: [
        {
          name: 'rewritten',
          match: { path: '/rewritten/*' },
          upstream: { url: server.url, host: 'rewrite' },
        },
        { name: 'listings', match: { methods: ['PROPFIND'], path: '/open/*' }, guard: 'none' },
      ],
    },
  })
  return {
    server,
    sidecar,
    decided: async (decision) => (await sidecar.metrics()).sum('fencegate_decisions_total', { decision }),
    expectUntouched: async (act) => {
      const before = [server.contents, server.requests]
      await act()
      expect([server.contents, server.requests]).toEqual(before)
    },
  }
}
