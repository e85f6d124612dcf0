/**
 * The dashboard: what runs when, and who is told what. Nothing is asked of the sidecar while the page can't be seen;
 * what was missed then is read at once when it can.
 */
import { ActDialog } from './act-dialog.js'
import { Api } from './api.js'
import { connectionOf } from './connection.js'
import { DetailsPanel } from './details-panel.js'
import { setAttribute } from './dom.js'
import { Header } from './header.js'
import { ListsPanel } from './lists-panel.js'
import { resolution } from './operations.js'
import { Poller } from './poller.js'
import { RatesPanel } from './rates-panel.js'
import { RejectionFeed } from './rejection-feed.js'
import { RejectionsPanel } from './rejections-panel.js'
import { SearchPanel } from './search-panel.js'
import { TaskDialog } from './task-dialog.js'
import { TokenHolder } from './token.js'
import { TokenDialog } from './token-dialog.js'

// A list that scrolls can be reached by keyboard, whatever the browser makes of it by itself.
for (const scroll of document.querySelectorAll('main .scroll')) {
  setAttribute(scroll, 'tabindex', '0')
  setAttribute(scroll, 'role', 'group')
  setAttribute(
    scroll,
    'aria-labelledby',
    scroll.closest('section')?.getAttribute('aria-labelledby') ?? undefined,
  )
}

const MINUTE_MS = 60_000

const token = new TokenHolder()
const api = new Api(token)
const poller = new Poller(api)
const feed = new RejectionFeed(api)
const tokenDialog = new TokenDialog(token)
const acts = new ActDialog(token, tokenDialog, () => poller.now())
const header = new Header()
const rates = new RatesPanel()
const lists = new ListsPanel((write) => acts.open(resolution(api, write)))
const details = new DetailsPanel(api)
new RejectionsPanel(feed)
new SearchPanel(api)
new TaskDialog(api, poller, acts)

function showHeader() {
  const { status, unknown, failure, since, answeredAtMs } = poller.heard
  header.show({
    connection: connectionOf({ failure, since, answeredAtMs, nowMs: Date.now() }),
    status,
    answeredAtMs,
    stalePerSecond: rates.stalePerSecond,
    // The counters tell nothing of the time before the page was opened, the journal does.
    staleLastMinute: Math.max(
      rates.staleLastMinute,
      feed.recent.staleSince((status?.nowMs ?? 0) - MINUTE_MS),
    ),
    latest: feed.recent.entries[0],
    holding: unknown.filter(({ holds }) => holds).length,
  })
}

poller.addEventListener('answered', () => {
  const { heard } = poller
  const { status } = heard
  if (!status) return
  rates.take(status)
  lists.show({ ...heard, status })
  details.show(status)
  feed.start()
  showHeader()
})
feed.addEventListener('change', showHeader)
poller.addEventListener('failed', () => {
  // Its next try would fail as well, and come late when the sidecar is back.
  feed.stop()
  showHeader()
})
token.addEventListener('change', () => {
  if (token.value !== '') poller.now()
})

function followVisibility() {
  if (document.hidden) {
    poller.stop()
    feed.stop()
  } else poller.start()
}
document.addEventListener('visibilitychange', followVisibility)
showHeader()
followVisibility()
