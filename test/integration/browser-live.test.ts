/** The dashboard on a real sidecar: what it shows as it happens, what it makes of hostile names, of quiet and of a crash. */
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { browser, expectQuiet, type WatchedPage } from '../support/browser.ts'
import { Dashboard } from '../support/browser-dashboard.ts'
import { exchange } from '../support/raw-client.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { until } from '../support/wait.ts'

const first = await scene({ restartGrace: '0s', handoverTimeout: '60s' })
const { upstream } = first
let { sidecar } = first
const send = (request: Parameters<typeof exchange>[1]) => exchange(sidecar.port, request, 60_000)
const { open } = await browser()
const url = `http://127.0.0.1:${sidecar.adminPort}/`
let watched: WatchedPage

async function dashboard(): Promise<Dashboard> {
  watched = await open(url)
  return new Dashboard(watched.page)
}

const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? ''

afterEach(() => watched.page.context().close())

test('with nothing to show says so', async () => {
  const { page } = await dashboard()
  await page.locator('#situation').getByText('Quiet').waitFor()
  for (const text of [
    'No rejection is on record.',
    'No outcome is unknown.',
    'No write is open, no handover waits.',
    'No task is frozen.',
  ]) {
    await page.locator('main').getByText(text, { exact: true }).waitFor()
  }
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByText('No task matches').waitFor()
  expect(await textOf(page, '#connection')).toBe('Live')
  expectQuiet(watched)
})

test('stale rejections appear as they come, under load', async () => {
  expect((await send(claim('settled', 9))).status).toBe(200)
  const on = await dashboard()
  await on.page.getByText('No rejection is on record.').waitFor()
  let loaded = true
  const load = [1, 2, 3, 4].map(async (client) => {
    const headers = [['User-Agent', `worker-${client}`]] as const
    while (loaded) {
      const statuses = [
        (await send(claim('settled', 9))).status,
        (await send(claim('settled', client, { headers }))).status,
      ]
      if (statuses.join() !== '200,412') throw new Error(`answers ${statuses}`)
    }
  })
  try {
    for (const client of [1, 2, 3, 4]) {
      await on
        .rejections('settled', 'stale-token', 'against 9', `worker-${client}`, '127.0.0.1')
        .first()
        .waitFor()
    }
    await until(async () => (await on.number('stale')) > 1, 'a rate of stale rejections')
    await on.page.locator('#findings').getByText('rejected in the last minute').waitFor()
    const summary = await on.page.locator('#stale-chart').getAttribute('aria-label')
    expect(summary).toMatch(/^Last 15 minutes\. stale: [\d.]+ a second now/)
  } finally {
    loaded = false
    await Promise.all(load)
  }
  await on.rejections('settled').first().getByRole('link').click()
  await on.task.getByText('Its holder can write').waitFor()
  await on.task.getByText('worker-1').first().waitFor()
  expectQuiet(watched)
})

test('an open write, and the holder that waits for it', async () => {
  const held = upstream.hold()
  const lower = send(claim('handed', 8, { headers: [['Fencing-Holder', 'old-worker']] }))
  await held.arrived
  const on = await dashboard()
  const higher = send(claim('handed', 9, { headers: [['Fencing-Holder', 'new-worker']] }))
  const row = on.page.locator('#in-progress-rows tr').filter({ hasText: 'handed' })
  await row.getByText('held by new-worker').waitFor()
  await row.getByText(/^waits/).waitFor()
  await row.getByRole('link').click()
  await on.task.getByText('old-worker').waitFor()
  await on.task.getByText(/^Handover waits for/).waitFor()
  held.release()
  expect([(await lower).status, (await higher).status]).toEqual([200, 200])
  await on.task.getByText('No write is open.').waitFor()
  expectQuiet(watched)
})

test('hostile names are text, in every list, dialog and address', async () => {
  const task = `<img/src=x/onerror=alert(1)>"'&amp;{{7*7}}`
  const agent = '<script>alert(2)</script>'
  const headers = [['User-Agent', agent]] as const
  const target = '/<svg/onload=alert(3)>'
  upstream.once((exchange) => exchange.reset())
  refusal(await send(claim(task, 9, { target, headers })), 502, 'outcome-unknown')
  refusal(await send(claim(task, 8, { target, headers })), 412, 'stale-token')
  const on = await dashboard()
  const { page } = on
  await on.rejections(task, agent).waitFor()
  await page.locator('#unknown-rows').getByText(target).waitFor()
  await page.locator('#connection').getByText('Live').waitFor()
  // What came before the page was opened is no news to it.
  refusal(await send(claim(task, 8, { target, headers })), 412, 'stale-token')
  await page.locator('#findings').getByText(task).waitFor()
  await page.locator('#search-text').fill('<img')
  await page.keyboard.press('Enter')
  await page.locator('#search-rows').getByText(task).click()
  await on.task.getByText(agent).first().waitFor()
  expect(await on.task.getByRole('heading', { level: 2 }).textContent()).toBe(`Task ${task}`)
  await page.reload()
  await on.task.getByText(agent).first().waitFor()
  await on.closeTask()
  await page.getByRole('button', { name: `Resolve the write of ${task}` }).click()
  await on.act.getByText(target).waitFor()
  expect(await page.locator('img, script:not([src]), svg[onload]').count()).toBe(0)
  expectQuiet(watched)
})

test('the content security policy is in force, and what it forbids would be noticed', async () => {
  const { page } = await dashboard()
  await page.locator('#connection').getByText('Live').waitFor()
  expectQuiet(watched)
  await page.evaluate(`
    const script = document.createElement('script')
    script.textContent = 'window.ran = true'
    document.body.append(script)
  `)
  expect(await page.evaluate('window.ran')).toBeUndefined()
  expect(watched.complaints()).toEqual([expect.stringContaining('Content Security Policy')])
})

test('a sidecar that is killed and started again under an open page', async () => {
  const on = await dashboard()
  const { page } = on
  await page.locator('#connection').getByText('Live').waitFor()
  const since = await page.locator('#phase').getAttribute('title')
  const { adminPort } = sidecar
  await sidecar.kill()
  await page.locator('#connection').getByText('Reconnecting').waitFor()
  await page.locator('#connection').getByText('Sidecar is gone').waitFor()
  await page.locator('#findings').getByText('what its log says last').waitFor()
  sidecar = await sidecar.restart({ admin: { listen: `127.0.0.1:${adminPort}` } })
  await page.locator('#connection').getByText('Live').waitFor()
  expect(await page.locator('#phase').getAttribute('title')).not.toBe(since)
  refusal(
    await send(claim('settled', 5, { headers: [['User-Agent', 'after-the-crash']] })),
    412,
    'stale-token',
  )
  await on.rejections('settled', 'after-the-crash').waitFor()
  await until(
    async () => (await textOf(page, '#tile-stale .beside')) === '1 since the start',
    'a count from the start',
  )
  // Refused while there is none, and told 503 while it starts.
  const gone =
    /ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|EMPTY_RESPONSE)|status of 503/
  expectQuiet(watched, gone)
})
