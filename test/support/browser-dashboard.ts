/** What a person does on the dashboard: looks a task up, acts on it, reads the answer. */
import type { Locator, Page } from 'playwright-core'

export class Dashboard {
  readonly page: Page
  readonly task: Locator
  readonly act: Locator
  readonly token: Locator

  constructor(page: Page) {
    this.page = page
    this.task = page.locator('#task-dialog')
    this.act = page.locator('#act-dialog')
    this.token = page.locator('#token-dialog')
  }

  /** Rows of the latest rejections that have all of these texts. */
  rejections(...texts: string[]): Locator {
    const rows = this.page.locator('#rejections-rows tr')
    return texts.reduce((found, text) => found.filter({ hasText: text }), rows)
  }

  /** The number that a tile shows. */
  async number(tile: string): Promise<number> {
    const shown = await this.page.locator(`#tile-${tile} .value`).textContent()
    return Number(shown?.replace(/[^\d.]/g, ''))
  }

  /** Opens a task as a link to it does. */
  async openTask(name: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(`#task=${encodeURIComponent(name)}`)}`)
    await this.task.locator('dd').first().waitFor()
  }

  async closeTask(): Promise<void> {
    await this.task.getByRole('button', { name: 'Close this task' }).click()
    await this.task.waitFor({ state: 'hidden' })
  }

  /** Fills in the form of an act of the open task, up to its confirmation. */
  async prepare(verb: string, reason: string, token?: string): Promise<void> {
    await this.task.getByRole('button', { name: verb, exact: true }).click()
    if (token !== undefined) await this.act.locator('input').fill(token)
    await this.act.getByLabel('Reason').fill(reason)
    await this.act.getByRole('button', { name: 'Go on' }).click()
  }

  /** Confirms; gives the token if it is asked for. */
  async confirm(verb: string, bearer?: string): Promise<void> {
    await this.act.getByRole('button', { name: verb, exact: true }).click()
    if (bearer === undefined) return
    await this.token.locator('input').fill(bearer)
    await this.token.getByRole('button', { name: 'Use this token' }).click()
  }

  /** What the dialog says once the act is done. */
  async answer(): Promise<string> {
    const status = this.act.getByRole('status')
    await status.waitFor()
    return (await status.textContent()) ?? ''
  }

  /** What the dialog says once it failed. */
  async fault(): Promise<string> {
    const fault = this.act.locator('.fault:visible')
    await fault.waitFor()
    return (await fault.textContent()) ?? ''
  }

  async closeAct(): Promise<void> {
    await this.act
      .getByRole('button', { name: /^Close/ })
      .last()
      .click()
    await this.act.waitFor({ state: 'hidden' })
  }

  /** A whole act on the open task; resolves with its answer. */
  async do(verb: string, reason: string, token?: string): Promise<string> {
    await this.prepare(verb, reason, token)
    await this.confirm(verb)
    const answer = await this.answer()
    await this.closeAct()
    return answer
  }
}
