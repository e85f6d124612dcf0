/**
 * The dashboard's files, as they are: nothing in them that the content security policy forbids or that makes markup of
 * data, each part of the page that a module asks for is there, and colours can be read.
 */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { DASHBOARD } from '../support/dashboard.ts'

const files = fs
  .readdirSync(DASHBOARD)
  .map((name) => ({ name, text: fs.readFileSync(path.join(DASHBOARD, name), 'utf8') }))
const modules = files.filter(({ name }) => name.endsWith('.js'))
const textOf = (name: string) => files.find((file) => file.name === name)?.text as string
const page = textOf('index.html')

describe('the page', () => {
  it('has no script, style or handler in its markup, and loads nothing from elsewhere', () => {
    expect(page).not.toMatch(/\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)/i)
    const loaded = [...page.matchAll(/\s(?:src|href)="([^"#]+)"/g)].map(([, target]) => target)
    expect(loaded.length).toBeGreaterThan(3)
    expect(loaded.filter((target) => /^(\w+:|\/)/.test(target as string))).toEqual([])
  })

  it('has each element that a module asks for by a name', () => {
    const asked = modules.flatMap(({ text }) =>
      [...text.matchAll(/\bbyId\('([\w-]+)'\)/g)].map(([, id]) => id),
    )
    expect(asked.length).toBeGreaterThan(20)
    expect(asked.filter((id) => !page.includes(`id="${id}"`))).toEqual([])
  })

  it('names each element once', () => {
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
  })
})

describe('the modules', () => {
  it('make no markup of data, and no code of text', () => {
    const making =
      /\b(innerHTML|outerHTML|insertAdjacentHTML|setHTML\w*|DOMParser|eval|Function)\b|document\.write/
    expect(modules.filter(({ text }) => making.test(text)).map(({ name }) => name)).toEqual([])
  })

  it('keep the token in the session storage only', () => {
    const kept = modules.filter(({ text }) => /localStorage|document\.cookie|indexedDB/.test(text))
    expect(kept.map(({ name }) => name)).toEqual([])
  })

  it('have 400 lines at most, and open with a comment', () => {
    const wrong = modules.filter(({ text }) => text.split('\n').length > 400 || !text.startsWith('/**'))
    expect(wrong.map(({ name }) => name)).toEqual([])
  })
})

describe.each(['light', 'dark'])('in the %s theme', (theme) => {
  const [light = '', dark = ''] = textOf('theme.css').split('@media (prefers-color-scheme: dark)')
  const part = theme === 'light' ? light : dark

  /** Of sRGB, as WCAG 2 defines it. */
  function luminance(variable: string): number {
    const [, hex = ''] = new RegExp(`--${variable}: #([0-9a-f]{3,6});`).exec(part) ?? []
    const whole = hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex
    expect(whole, `--${variable} has a colour`).toHaveLength(6)
    const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((i) => {
      const value = Number.parseInt(whole.slice(i, i + 2), 16) / 255
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }

  function contrast(one: string, other: string): number {
    const [high = 0, low = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
    return (high + 0.05) / (low + 0.05)
  }

  const grounds = ['ground', 'panel', 'raised', 'bad-ground', 'warn-ground']
  const texts = ['text', 'muted', 'accent', 'bad', 'warn', 'ok']

  it.each(texts)('%s can be read on each ground', (text) => {
    const poor = grounds.filter((ground) => contrast(text, ground) < 4.5)
    expect(poor).toEqual([])
  })

  it('the labels of buttons can be read, and the borders of fields be seen', () => {
    expect(contrast('on-accent', 'accent')).toBeGreaterThanOrEqual(4.5)
    expect(contrast('on-accent', 'bad')).toBeGreaterThanOrEqual(4.5)
    expect(contrast('strong-line', 'panel')).toBeGreaterThanOrEqual(3)
  })
})
