/** `top` in a real terminal, on a real sidecar: its screen, keys, sizes, losses, and the terminal after every kind of end. */
import { expect, test } from 'vitest'
import { claim, refusal, scene } from '../support/scene.ts'
import { TerminalProcess } from './terminal.ts'

const { upstream, sidecar, send } = await scene()
const write = (task: string, token: number) => send(claim(task, token))
const TOP = ['top', '--interval', '200ms', '--data', sidecar.data]

test('tasks and rejections as they come, keys, and another size', async () => {
  const top = new TerminalProcess(TOP, 100, 20)
  await top.shows('none on record')
  const held = upstream.hold()
  const open = write('job-1', 9)
  await top.shows(/^> job-1 {2}mark 9 {2}open 1 {2}\d+ ms/)
  refusal(await write('job-1', 8), 412, 'stale-token')
  await top.shows(/ job-1 {2}8 < 9 {2}127\.0\.0\.1/)
  await top.shows('stale 1')

  top.type('\x1b[B')
  await top.shows(/^> \d\d:\d\d:\d\d {2}job-1/)
  top.type('\r')
  await top.shows('passes  9 and above')
  await top.shows('Latest rejections:')
  top.type('q')
  await top.shows('REJECTIONS')
  top.type('p')
  await top.shows('PAUSED')
  held.release()
  expect((await open).status).toBe(200)
  top.type('p')
  await top.shows('open writes 0')

  top.resize(40, 12)
  await top.shows(/^q quit {2}p pause {2}up\/down choose {2}Enter ~$/)
  expect(top.screen.length).toBeLessThanOrEqual(12)
  expect(top.screen.filter((line) => line.length > 40)).toEqual([])
  top.type('q')
  expect(await top.ended()).toMatchObject({ code: '0', isRestored: true })
  expect(top.output).toContain('\x1b[1m')
})

test('NO_COLOR leaves characters alone', async () => {
  const top = new TerminalProcess(TOP, 80, 20, { NO_COLOR: '1' })
  await top.shows('decisions/s 0.0')
  top.type('\x03')
  expect(await top.ended()).toMatchObject({ code: '0', isRestored: true })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(top.output).not.toMatch(/\x1b\[[\d;]*m/)
})

test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)(
  '%s ends it with 0, and the terminal is as before',
  async (signal) => {
    const top = new TerminalProcess(TOP, 80, 20)
    await top.shows('decisions/s')
    top.signal(signal)
    expect(await top.ended()).toMatchObject({ code: '0', isRestored: true })
  },
)

test('a fault of its own: the terminal is as before, and the message comes after that', async () => {
  const top = new TerminalProcess(TOP, 80, 20)
  await top.shows('decisions/s')
  top.signal('SIGUSR2')
  const { code, isRestored, after } = await top.ended()
  expect({ code, isRestored }).toEqual({ code: '70', isRestored: true })
  expect(after).toContain('Error: a bug')
})

test('Ctrl-Z gives the terminal back, and it goes on where it is called back', async () => {
  const top = new TerminalProcess(TOP, 80, 20)
  await top.shows('decisions/s')
  const before = top.output.length
  top.type('\x1a')
  await top.changes.when(() => top.output.includes('\x1b[?1049l', before), 'the screen left', 20_000)
  top.signal('SIGCONT')
  await top.changes.when(() => top.output.includes('\x1b[?1049h', before), 'the screen taken again', 20_000)
  top.type('q')
  expect(await top.ended()).toMatchObject({ code: '0', isRestored: true })
})

test('a sidecar that goes away is told, and asked again until it is back; without one there is no screen', async () => {
  const top = new TerminalProcess(TOP, 80, 20)
  await top.shows('decisions/s')
  await sidecar.kill()
  await top.shows(/^No newer look for .*, asking again: no sidecar answers at/)
  const next = await sidecar.restart()
  await top.shows(/^decisions\/s \d/)
  expect(top.screen.join()).not.toContain('asking again')
  await next.stop()
  await top.shows('asking again')
  top.type('q')
  expect(await top.ended()).toMatchObject({ code: '0', isRestored: true })

  const late = new TerminalProcess(TOP, 80, 20)
  await late.changes.when(() => late.said('AFTER') !== undefined, 'its end', 20_000)
  expect(late.said('CODE')).toBe('69')
  expect(late.output).toContain('no sidecar answers at')
  expect(late.output).not.toContain('\x1b[?1049h')
})
