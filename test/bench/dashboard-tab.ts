/**
 * A stand-in for open tabs of the dashboard, in a process of its own: the page's own modules poll and stream as they do
 * in a browser; only what draws is missing. A browser on this machine would cost the sidecar its processor, and not its
 * answers. Told how many tabs there are to be; answers when each has been answered and streams.
 */
import { once } from 'node:events'
import { dashboard } from '../support/dashboard.ts'

interface Part extends EventTarget {
  readonly state?: string
  start(): void
  stop(): void
}

const origin = process.argv[2] as string
const { fetch } = globalThis
// The page asks its own address.
globalThis.fetch = (target, request) => fetch(new URL(String(target), origin), request)

const { Api } = await dashboard('api')
const { Poller } = await dashboard('poller')
const { RejectionFeed } = await dashboard('rejection-feed')
const tabs: Part[][] = []

async function open(): Promise<void> {
  const api = new Api({ value: '', forget: () => {} })
  const [poller, feed]: [Part, Part] = [new Poller(api), new RejectionFeed(api)]
  tabs.push([poller, feed])
  poller.start()
  feed.start()
  await once(poller, 'answered')
  while (feed.state !== 'live') await once(feed, 'change')
}

function closeAll(): void {
  for (const part of tabs.splice(0).flat()) part.stop()
}

process.on('message', async (wanted: number) => {
  closeAll()
  await Promise.all(Array.from({ length: wanted }, open))
  process.send?.(tabs.length)
})
process.once('disconnect', () => process.exit())
