/** Whoever is paged finds the alert's page, on it what they need, and on the dashboard the panels that it names. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { alertNames, alerts, pageOf, ROOT } from './alert-rules.ts'
import { panels } from './grafana-dashboard.ts'

const RUNBOOKS = path.join(ROOT, 'docs/runbooks')
const read = (name: string) => fs.readFileSync(path.join(RUNBOOKS, name), 'utf8')
const SECTIONS = ['What it means', 'What is at stake', 'Look', 'Do', "Don't", 'It is over when']
/** One panel's title, or several. */
const NAMED = /\bpanels?((?:(?:,|\s+and)?\s+"[^"]+")+)/g

it('every page is for an alert', () => {
  const pages = fs.readdirSync(RUNBOOKS).filter((name) => name !== 'README.md')
  expect(pages.sort()).toEqual(alertNames.map((name) => `${pageOf(name)}.md`).sort())
})

it.each(alertNames)('the index has %s, with its severities', (name) => {
  const severities = alerts.filter(({ alert }) => alert === name).map(({ labels }) => labels?.severity)
  const row = read('README.md')
    .split('\n')
    .find((line) => line.includes(`| [${name}](${pageOf(name)}.md) `))
  expect(row?.split('|')[2]?.trim()).toBe(severities.join(', '))
})

describe.each(alertNames)('the page of %s', (name) => {
  const text = read(`${pageOf(name)}.md`)

  it('says what it means, what to do, and when it is over', () => {
    expect(text.split('\n')[0]).toBe(`# ${name}`)
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)).toEqual(SECTIONS)
  })

  it('says when it fires, for each severity', () => {
    const opening = text.slice(0, text.indexOf('## '))
    const said = [...opening.matchAll(/\*\*(warning|critical)\*\*: /g)].map(([, severity]) => severity)
    const severities = alerts.filter(({ alert }) => alert === name).map(({ labels }) => labels?.severity)
    expect(said).toEqual(severities)
  })

  it('begins with a look by a command or a query', () => {
    expect(text.slice(text.indexOf('## Look'), text.indexOf('## Do'))).toMatch(/```(sh|promql)\n/)
  })
})

it('the panels that pages name are on the dashboard', () => {
  const titles = panels.map(({ title }) => title)
  const named = alertNames.flatMap((name) =>
    [...read(`${pageOf(name)}.md`).matchAll(NAMED)].flatMap(([, list = '']) => list.match(/"[^"]+"/g) ?? []),
  )
  const wanted = named.map((quoted) => quoted.slice(1, -1).replaceAll(/\s+/g, ' '))
  expect(wanted.filter((title) => !titles.includes(title))).toEqual([])
  expect(wanted.length).toBeGreaterThan(8)
})

it('the pages that panels name are there', () => {
  const named = panels.flatMap(({ description = '' }) => {
    const [, list = ''] = /Runbooks?: (.*)\.$/.exec(description) ?? []
    return list === '' ? [] : list.split(', ')
  })
  expect(named.filter((page) => !alertNames.some((name) => pageOf(name) === page))).toEqual([])
  expect(named.length).toBeGreaterThan(8)
})
