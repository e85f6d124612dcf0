/**
 * The dashboard by itself, on an admin port that says what each test wants: bounded in memory, still while it refreshes,
 * readable at every width and in both themes, and plain about every refusal.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { browser, expectQuiet, type WatchedPage } from '../support/browser.ts'
import { ScriptedAdmin, type ScriptedTask } from '../support/browser-admin.ts'
import { Dashboard } from '../support/browser-dashboard.ts'
import { until } from '../support/wait.ts'

const { open } = await browser()
let admin: ScriptedAdmin
let watched: WatchedPage
let polls = 0

beforeEach(async () => {
  admin = await ScriptedAdmin.start()
  polls = 0
  admin.intercept = (_method, target) => {
    if (target === '/v1/status') polls++
    return undefined
  }
})
afterEach(async () => {
  await watched.page.context().close()
  await admin.close()
})

async function dashboard(options: Parameters<typeof open>[1] = {}): Promise<Dashboard> {
  watched = await open(admin.url, options)
  return new Dashboard(watched.page)
}

const task = (name: string, more: Partial<ScriptedTask> = {}): ScriptedTask => ({
  ...{ task: name, mark: '9', recorded: true, complete: true, frozen: false, openWrites: 0 },
  ...more,
})

const rejection = (name: string, agent = 'agent') => ({
  kind: 'rejection',
  task: name,
  token: '7',
  data: { code: 'stale-token', highest: '9', route: 'none', client: '10.0.0.7', userAgent: agent, count: 1 },
})

/** Everything at once, in long names and large numbers. */
function fill(round: number, atMs = Date.now()): void {
  const long = `tenant/eu-west-1/export/${'long-'.repeat(20)}`
  admin.tasks = Array.from({ length: 120 }, (_, i) =>
    task(`${i % 3 === 0 ? long : 'job-'}${i + round}`, {
      mark: i % 2 === 0 ? '9223372036854775807' : String(i),
      holder: 'spiffe://prod.example/ns/payments/sa/exporter',
      frozen: i % 5 === 0,
      openWrites: i % 4,
      oldestOpenWriteMs: i * 100,
      ...(i % 10 === 1 ? { handover: { waitedMs: 500 * i } } : {}),
    }),
  )
  admin.unknown = Array.from({ length: 7 }, (_, i) => ({
    ...{ id: `u${i}`, task: `${long}${i}`, token: '8', holds: i % 2 === 0, route: 'none', method: 'POST' },
    ...{ target: `/${long}`, reason: 'timeout', admittedAtMs: 1, endedAtMs: Date.now() },
  }))
  admin.decisions = [
    { route: 'none', decision: 'forwarded', count: 1000 * round },
    { route: 'none', decision: 'stale-token', count: 7 * round },
  ]
  const names = Array.from({ length: 60 }, (_, i) => `${long}${round}-${i}`)
  admin.record(...names.map((name) => ({ ...rejection(name, `agent ${long}`), atMs })))
}

/** Lets the page's clock run until it has asked again. */
async function untilPolled({ page }: Dashboard): Promise<void> {
  const before = polls
  await until(async () => {
    await page.clock.runFor(500)
    return polls > before
  }, 'another poll')
}

test('an hour, and what comes in it, leaves the heap and the number of nodes where they were', async () => {
  watched = await open('about:blank')
  const on = new Dashboard(watched.page)
  const begin = Date.now()
  await on.page.clock.install({ time: begin })
  await on.page.goto(admin.url)
  /** Half a minute: 60 rejections, new tasks, other numbers, a poll. */
  const round = async (number: number) => {
    const nowMs = begin + number * 30_000
    admin.status = { nowMs }
    fill(number, nowMs)
    await on.page.clock.fastForward(28_000)
    await untilPolled(on)
  }
  for (let i = 1; i <= 40; i++) await round(i)
  await on.openTask('job-1')
  const before = await watched.memory()
  for (let i = 41; i <= 160; i++) await round(i)
  await on.openTask('job-2')
  const after = await watched.memory()
  expect(await on.page.locator('#rejections-rows tr').count()).toBe(200)
  expect(after.nodes).toBeLessThan(before.nodes * 1.1)
  expect(after.heapBytes).toBeLessThan(before.heapBytes * 1.2)
  expectQuiet(watched)
})

test('a refresh moves nothing, and keeps the focus where it was', async () => {
  fill(1)
  const on = await dashboard()
  await on.rejections('1-59').waitFor()
  const link = on.page.locator('#in-progress-rows a').nth(5)
  await link.focus()
  const name = await link.textContent()
  for (let i = 2; i <= 4; i++) {
    const before = polls
    // Its row goes to the top.
    admin.tasks = admin.tasks.map((one) =>
      one.task === name ? { ...one, handover: { waitedMs: 1e6 * i } } : { ...one, oldestOpenWriteMs: i },
    )
    admin.record(...Array.from({ length: 30 }, (_, n) => rejection(`new-${i}-${n}`)))
    admin.decisions = [{ route: 'none', decision: 'stale-token', count: 90 * i }]
    await until(() => polls >= before + 2, 'two more polls')
  }
  await on.rejections('new-4-29').waitFor()
  expect(await on.page.locator('#in-progress-rows a').first().textContent()).toBe(name)
  expect(await on.page.evaluate('document.activeElement.textContent')).toBe(name)
  // Once it is gone, its list is the nearest place to go on from.
  admin.tasks = admin.tasks.filter((one) => one.task !== name)
  await on.page
    .locator('#in-progress-rows')
    .getByText(name as string, { exact: true })
    .waitFor({ state: 'detached' })
  const list = await on.page.evaluate('document.activeElement.getAttribute("aria-labelledby")')
  expect(list).toBe('in-progress-title')
  // Rows of a list that changes do move inside its box; the boxes don't.
  const boxes =
    '[...document.querySelectorAll("main > *, .panel")].map((box) => box.getBoundingClientRect().top)'
  const before = await on.page.evaluate(boxes)
  fill(9)
  await on.rejections('9-59').waitFor()
  expect(await on.page.evaluate(boxes)).toEqual(before)
  expectQuiet(watched)
})

test.each([
  [400, 'light'],
  [400, 'dark'],
  [1280, 'light'],
  [1280, 'dark'],
] as const)('at %i px in the %s theme everything fits', async (width, colorScheme) => {
  fill(1)
  const on = await dashboard({ viewport: { width, height: 900 }, colorScheme })
  const { page } = on
  await on.rejections('1-59').waitFor()
  await page.getByRole('button', { name: 'Search' }).click()
  await page.locator('#search-rows tr').first().waitFor()
  for (const id of ['routes', 'store', 'config']) await page.locator(`#${id} summary`).click()
  const wide = `[...document.querySelectorAll('body, main, .panel, .tile, .bar, .situation, dialog[open], dialog[open] .content')]
    .filter((box) => box.scrollWidth > box.clientWidth + 1 || box.getBoundingClientRect().right > innerWidth + 1)
    .map((box) => box.id || box.className || box.tagName)`
  expect(await page.evaluate(wide)).toEqual([])
  await on.openTask('job-1')
  await on.task.getByRole('button', { name: 'Fence out' }).click()
  await on.act.getByLabel('Reason').waitFor()
  expect(await page.evaluate(wide)).toEqual([])
  expectQuiet(watched)
})

test('a hidden tab asks nothing, and catches up when it is seen', async () => {
  watched = await open('about:blank')
  const on = new Dashboard(watched.page)
  const { page } = on
  await page.clock.install()
  await page.goto(admin.url)
  await until(() => admin.streams === 1, 'an open stream')
  const show = (hidden: boolean) =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} })
      document.dispatchEvent(new Event('visibilitychange'))
    `)
  await show(true)
  await until(() => admin.streams === 0, 'the end of the stream')
  const before = polls
  admin.record(rejection('while-hidden'))
  await page.clock.runFor(60_000)
  expect([polls, admin.streams]).toEqual([before, 0])
  await show(false)
  await until(() => polls > before && admin.streams === 1, 'a poll and a stream')
  await page.clock.runFor(1000)
  await on.rejections('while-hidden').waitFor()
  expectQuiet(watched)
})

test('the list of rejections stands still while somebody points at it', async () => {
  admin.record(rejection('first'))
  const on = await dashboard()
  await on.rejections('first').hover()
  admin.record(rejection('second'), rejection('third'))
  await on.page.getByText('Held: 2 newer ones').waitFor()
  expect(await on.rejections('second').count()).toBe(0)
  await on.page.mouse.move(5, 5)
  await on.rejections('third').waitFor()
  await on.page.getByRole('button', { name: 'Pause' }).click()
  admin.record(rejection('fourth'))
  await on.page.getByText('Held: 1 newer one').waitFor()
  await on.page.getByRole('button', { name: 'Pause' }).click()
  await on.rejections('fourth').waitFor()
  expectQuiet(watched)
})

test('where all streams are taken the rejections are read again and again', async () => {
  admin.intercept = (_method, target) =>
    target === '/v1/journal/stream'
      ? { status: 503, body: { error: '32 streams are open' }, headers: { 'Retry-After': '5' } }
      : undefined
  admin.record(rejection('before'))
  const on = await dashboard()
  await on.rejections('before').waitFor()
  await on.page.getByText('All streams are taken').waitFor()
  admin.record(rejection('after'))
  await on.rejections('after').waitFor()
  expectQuiet(watched, /503/)
})

test('where reading needs a token it is asked for, and no other is tried by itself', async () => {
  const tried: (string | undefined)[] = []
  admin.intercept = (_method, _target, { headers }) => {
    tried.push(headers.authorization)
    if (headers.authorization === 'Bearer right-token-0123456789') return undefined
    return { status: 401, body: { error: 'a bearer token is needed' } }
  }
  const on = await dashboard()
  await on.page.locator('#connection').getByText('Needs a token').waitFor()
  await on.page.getByText('admin.tokenFile').first().waitFor()
  const give = async (bearer: string) => {
    await on.page.getByRole('button', { name: 'Enter a token' }).click()
    await on.token.locator('input').fill(bearer)
    await on.page.keyboard.press('Enter')
  }
  await give('wrong-token-0123456789')
  await on.page.getByRole('button', { name: 'Enter a token' }).waitFor()
  expect(tried.filter((header) => header === 'Bearer wrong-token-0123456789')).toHaveLength(1)
  await give('right-token-0123456789')
  await on.page.locator('#connection').getByText('Live').waitFor()
  await until(() => admin.streams === 1, 'a stream with the token')
  expectQuiet(watched, /401/)
})

const BODIES = {
  403: 'acts need admin.tokenFile; the control socket works without it',
  429: 'too many failed tokens',
  503: 'the sidecar is stopping',
}

test.each([
  [403, {}, 'Nothing was done: acts need admin.tokenFile; the control socket works without it.'],
  [429, { 'Retry-After': '42' }, 'Nothing was done: too many wrong tokens came from this address'],
  [503, { 'Retry-After': '2' }, 'The sidecar could not do it: the sidecar is stopping. Try again in 2.0 s'],
] as const)('an act that is answered %i was not done, and says why', async (status, headers, said) => {
  admin.tasks = [task('k')]
  admin.intercept = (method) =>
    method === 'POST' ? { status, headers, body: { error: BODIES[status] } } : undefined
  const on = await dashboard()
  await on.openTask('k')
  await on.prepare('Freeze', 'try')
  await on.confirm('Freeze', 'some-token-0123456789')
  expect(await on.fault()).toContain(said)
  expectQuiet(watched, new RegExp(String(status)))
})

test('an act whose answer is lost says that nobody knows, and can be done again', async () => {
  admin.tasks = [task('k')]
  const on = await dashboard()
  await on.openTask('k')
  await on.page.route('**/freeze', (route) => route.abort())
  await on.prepare('Freeze', 'try')
  await on.confirm('Freeze', 'some-token-0123456789')
  expect(await on.fault()).toContain('Nobody knows whether it was done')
  await on.page.unroute('**/freeze')
  admin.intercept = (method) =>
    method === 'POST'
      ? { status: 200, body: { task: 'k', mark: '9', frozen: true, passes: '9', open: [] } }
      : undefined
  await on.confirm('Freeze')
  expect(await on.answer()).toContain('k has mark 9, frozen')
  expect(admin.acts.at(-1)).toEqual({
    target: '/v1/tasks/k/freeze',
    body: { reason: 'try' },
    authorization: 'Bearer some-token-0123456789',
  })
  expectQuiet(watched, /ERR_FAILED/)
})

test('the search goes through all tasks, a page at a time', async () => {
  admin.tasks = Array.from({ length: 120 }, (_, i) => task(`job-${String(i).padStart(3, '0')}`))
  const on = await dashboard()
  const { page } = on
  await page.locator('#search-text').fill('job')
  await page.keyboard.press('Enter')
  await page.getByText('Page 1: 50 tasks').waitFor()
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.locator('#search-rows').getByText('job-050').waitFor()
  await page.getByRole('button', { name: 'Next page' }).click()
  await page.getByText('Page 3: 20 tasks, the last').waitFor()
  expect(await page.getByRole('button', { name: 'Next page' }).isDisabled()).toBe(true)
  await page.getByRole('button', { name: 'Previous page' }).click()
  await page.getByText('Page 2: 50 tasks').waitFor()
  expect(await page.locator('#search-rows tr').count()).toBe(50)
  expectQuiet(watched)
})
