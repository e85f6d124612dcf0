/** etcd as one process on free ports, spoken to through its JSON gateway. */
import { temporaryDirectory } from '../support/sidecar.ts'
import { freePort, startServer } from './server-process.ts'

export class EtcdServer {
  readonly url: string

  private constructor(url: string) {
    this.url = url
  }

  static async start(): Promise<EtcdServer> {
    const [clients, peers] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
    const flags = {
      'data-dir': temporaryDirectory(),
      'listen-client-urls': clients,
      'advertise-client-urls': clients,
      'listen-peer-urls': peers,
      'initial-advertise-peer-urls': peers,
      'initial-cluster': `default=${peers}`,
      'log-level': 'error',
    }
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
    await startServer('etcd', args, async () => {
      const health = await fetch(`${clients}/health`).then(
        (answer) => answer.text(),
        () => '',
      )
      return health.includes('"health":"true"')
    })
    return new EtcdServer(clients)
  }

  /** The store's revision, which each write raises. */
  async revision(): Promise<number> {
    const answer = await fetch(`${this.url}/v3/kv/range`, {
      method: 'POST',
      body: JSON.stringify({ key: base64('revision') }),
    })
    const { header } = (await answer.json()) as { header: { revision: string } }
    return Number(header.revision)
  }

  /** Watches that are open. */
  async watchers(): Promise<number> {
    const metrics = await (await fetch(`${this.url}/metrics`)).text()
    return Number(/^etcd_debugging_mvcc_watcher_total (\d+)$/m.exec(metrics)?.[1])
  }
}

/** Keys and values of the gateway are base64. */
export const base64 = (text: string) => Buffer.from(text).toString('base64')
