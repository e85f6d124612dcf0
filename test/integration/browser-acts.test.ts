/** Acts through the dashboard, in a real browser on a real sidecar: each changes what the data port does. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { browser, expectQuiet, type WatchedPage } from '../support/browser.ts'
import { Dashboard } from '../support/browser-dashboard.ts'
import { claim, refusal, scene } from '../support/scene.ts'
import { temporaryDirectory } from '../support/sidecar.ts'

const BEARER = 'alice-has-this-token-0123456789'
const tokenFile = path.join(temporaryDirectory(), 'tokens')
fs.writeFileSync(tokenFile, `alice ${BEARER}\n`, { mode: 0o600 })
const { upstream, sidecar, send } = await scene({
  admin: { tokenFile },
  routes: [{ name: 'held', match: { path: '/held/*' }, onUnknown: 'hold' }],
  handoverTimeout: '300ms',
  restartGrace: '0s',
})
const { open } = await browser()
const url = `http://127.0.0.1:${sidecar.adminPort}/`
let watched: WatchedPage

/** A page that has the token already, unless it is to be asked for. */
async function dashboard(withToken = true): Promise<Dashboard> {
  watched = await open(url)
  if (withToken) await watched.page.evaluate(`sessionStorage.setItem('fencegate-token', '${BEARER}')`)
  return new Dashboard(watched.page)
}

afterEach(() => watched.page.context().close())

test('freeze and thaw, with the token asked for when it is first needed and told whose it is', async () => {
  expect((await send(claim('F', 8))).status).toBe(200)
  const on = await dashboard(false)
  await on.openTask('F')
  await on.prepare('Freeze', 'looks stuck, INC-1')
  expect(await on.act.textContent()).toContain('Every write of this task is refused')
  expect((await send(claim('F', 8))).status).toBe(200)
  await on.confirm('Freeze', BEARER)
  expect(await on.answer()).toMatch(/F has mark 8, frozen.*On record as freeze by alice/)
  await on.closeAct()
  refusal(await send(claim('F', 8)), 423, 'task-frozen')
  await on.task.getByText('Frozen: every write is refused').waitFor()
  await on.page.locator('#frozen-rows').getByText('F', { exact: true }).waitFor()

  expect(await on.do('Thaw', 'was not stuck')).toMatch(/mark 8, token 8 or above passes.*thaw by alice/)
  expect((await send(claim('F', 8))).status).toBe(200)
  await on.task.getByText('was not stuck').waitFor()
  await on.closeTask()
  await on.page.getByRole('button', { name: 'Forget the token' }).click()
  expect(await on.page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).toBe(
    '[{},{}]',
  )
  expectQuiet(watched)
})

test('fence out, and thaw for the next holder', async () => {
  expect((await send(claim('E', 8))).status).toBe(200)
  const on = await dashboard()
  await on.openTask('E')
  expect(await on.do('Fence out', 'its holder is lost')).toContain(
    'E has mark 9, frozen; once thawed, token 9',
  )
  refusal(await send(claim('E', 9)), 423, 'task-frozen')
  await on.do('Thaw', 'the next one may write', '10')
  refusal(await send(claim('E', 9)), 412, 'stale-token')
  expect((await send(claim('E', 10))).status).toBe(200)
  await on.prepare('Fence out', 'once more', '8')
  await on.confirm('Fence out')
  expect(await on.fault()).toMatch(/^Nothing was done: .*10/)
  expectQuiet(watched, /409/)
})

test('raise, and tell which writes are still open', async () => {
  const held = upstream.hold()
  const first = send(claim('R', 8, { method: 'POST', target: '/slow' }), 60_000)
  await held.arrived
  const on = await dashboard()
  await on.page.locator('#in-progress-rows').getByText('R', { exact: true }).waitFor()
  await on.openTask('R')
  await on.task.getByText('POST /slow').waitFor()
  expect(await on.do('Raise the mark', 'taken over by hand', '20')).toMatch(
    /1 write is still open.*POST \/slow/,
  )
  held.release()
  expect((await first).status).toBe(200)
  refusal(await send(claim('R', 19)), 412, 'stale-token')
  await on.task.getByText('No write is open.').waitFor()
  expectQuiet(watched)
})

test('resolve an unknown outcome, which lets the next holder in', async () => {
  upstream.once((exchange) => exchange.reset())
  refusal(await send(claim('U', 8, { target: '/held/1' })), 502, 'outcome-unknown')
  refusal(await send(claim('U', 9, { target: '/held/1' })), 503, 'handover-held')
  const on = await dashboard()
  await on.page.locator('#unknown-rows').getByText('keeps the next holder out').waitFor()
  await on.openTask('U')
  await on.task.getByText('Held by 1 unknown outcome').waitFor()
  await on.closeTask()
  await on.page.getByRole('button', { name: 'Resolve the write of U' }).click()
  await on.act.getByLabel('Reason').fill('not in the ledger')
  await on.act.getByRole('button', { name: 'Go on' }).click()
  expect(await on.fault()).toBe('Say what became of the write.')
  await on.act.getByLabel('Not applied').check()
  await on.act.getByRole('button', { name: 'Go on' }).click()
  await on.confirm('Resolve')
  expect(await on.answer()).toBe('Done. On record as not-applied by alice.')
  await on.closeAct()
  await on.page.getByText('No outcome is unknown.').waitFor()
  expect((await send(claim('U', 9, { target: '/held/1' }))).status).toBe(200)
  expectQuiet(watched)
})

test('reset a poisoned mark, in two steps', async () => {
  expect((await send(claim('P', 9_000_000))).status).toBe(200)
  refusal(await send(claim('P', 9)), 412, 'stale-token')
  const on = await dashboard()
  await on.openTask('P')
  await on.prepare('Reset the mark', 'a test wrote this token', '8')
  expect(await on.fault()).toContain('Freeze the task first')
  await on.closeAct()
  await on.do('Freeze', 'to be reset')
  await on.task.getByText('Frozen: every write is refused').waitFor()
  await on.prepare('Reset the mark', 'a test wrote this token', '8')
  await on.confirm('Check')
  await on.act.getByText('down from 9000000 to 8').waitFor()
  refusal(await send(claim('P', 9_000_000)), 423, 'task-frozen')
  await on.confirm('Reset the mark to 8')
  expect(await on.answer()).toMatch(/P has mark 8, frozen.*reset by alice/)
  await on.closeAct()
  await on.do('Thaw', 'the mark is right again')
  expect((await send(claim('P', 9))).status).toBe(200)
  expectQuiet(watched)
})

test('a wrong token does nothing, and is asked for again', async () => {
  const on = await dashboard(false)
  await on.openTask('W')
  await on.prepare('Freeze', 'try')
  await on.confirm('Freeze', 'not-the-token-0123456789')
  await on.token.getByText('does not know that token').waitFor()
  expect((await send(claim('W', 1))).status).toBe(200)
  await on.token.locator('input').fill(BEARER)
  await on.token.getByRole('button', { name: 'Use this token' }).click()
  expect(await on.answer()).toContain('by alice')
  refusal(await send(claim('W', 1)), 423, 'task-frozen')
  expectQuiet(watched, /401/)
})

test('by keyboard alone: found, frozen, left', async () => {
  expect((await send(claim('by-keyboard', 3))).status).toBe(200)
  const on = await dashboard()
  const { page } = on
  const focused = () =>
    page.evaluate<string>(`(() => {
      const at = document.activeElement
      return at.getAttribute('aria-label') ?? at.id + at.textContent.trim()
    })()`)
  /** Tabs until what has the focus matches. */
  const tabTo = async (label: RegExp) => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab')
      if (label.test(await focused())) return
    }
    throw new Error(`no Tab leads to ${label}; the last was at ${await focused()}`)
  }
  await page.keyboard.press('Tab')
  expect(await focused()).toContain('Skip')
  await tabTo(/^search-text/)
  await page.keyboard.type('by-key')
  await page.keyboard.press('Enter')
  await page.locator('#search-rows a').waitFor()
  await tabTo(/^by-keyboard$/)
  await page.keyboard.press('Enter')
  await on.task.locator('dd').first().waitFor()
  await tabTo(/^Freeze$/)
  await page.keyboard.press('Enter')
  await page.keyboard.type('by hand')
  await page.keyboard.press('Enter')
  expect(await focused()).toBe('Freeze')
  await page.keyboard.press('Enter')
  expect(await on.answer()).toContain('freeze by alice')
  refusal(await send(claim('by-keyboard', 3)), 423, 'task-frozen')
  await page.keyboard.press('Escape')
  expect(await focused()).toBe('Freeze')
  await page.keyboard.press('Escape')
  await on.task.waitFor({ state: 'hidden' })
  expect(await focused()).toBe('by-keyboard')
  expectQuiet(watched)
})
