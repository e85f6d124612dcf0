/** The journal as it grows: events in any pieces, and streams that break off. */
import type http from 'node:http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Endpoint } from '../../src/cli/endpoint.ts'
import { EventReader } from '../../src/cli/event-stream.ts'
import { follow } from '../../src/cli/follow.ts'
import { answeringPort } from '../support/answering-port.ts'

const STREAM = [
  ': hello\n\nevent: act\nid: 1\ndata: {"seq":1}\n\n',
  'id:2\r\ndata:a\r\ndata: b\r\n\r\n:\n\nretry: 5\n\n',
  'data\rid: 4\r\rid: 5\n\ndata: last\n\n',
].join('')
const EVENTS = [
  { id: '1', data: '{"seq":1}' },
  { id: '2', data: 'a\nb' },
  { id: '4', data: '' },
  { id: '5', data: 'last' },
]

test('however the text is cut, the events are the same', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length)), (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), STREAM.length]
      const reader = new EventReader()
      const events = places.flatMap((place, i) => reader.read(STREAM.slice(places[i - 1] ?? 0, place)))
      expect(events).toEqual(EVENTS)
    }),
  )
})

test('an event is not held beyond its limit', () => {
  const reader = new EventReader()
  const feed = (text: string) => () => {
    for (let i = 0; i < 20; i++) reader.read(text)
  }
  expect(feed(`data: ${'x'.repeat(1e5)}\n`)).toThrow(RangeError)
  expect(() => new EventReader().read('x'.repeat(2e6))).toThrow(RangeError)
})

const endpointAt = (url: string): Endpoint => ({
  kind: 'server',
  name: url,
  url: new URL(url),
  token: undefined,
})
const event = (seq: number) => `id: ${seq}\ndata: {"seq":${seq}}\n\n`

/** Follows the streams that the listeners give, one a connection; the seqs that were read, and what was told. */
async function followed(listeners: readonly http.RequestListener[], until: number) {
  let connection = 0
  const { url, asked } = await answeringPort((req, res) => listeners[connection++]?.(req, res))
  const controller = new AbortController()
  const notices: string[] = []
  const seqs: number[] = []
  const following = {
    ...{ filters: { task: 'T', kind: undefined }, after: 7, signal: controller.signal },
    notice: (text: string) => void notices.push(text),
  }
  for await (const entries of follow<{ seq: number }>(endpointAt(url), following)) {
    seqs.push(...entries.map(({ seq }) => seq))
    if (seqs.includes(until)) controller.abort()
  }
  return { url, asked, seqs, notices }
}

const stream =
  (text: string, end: (res: http.ServerResponse) => void): http.RequestListener =>
  (_, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' }).write(text, () => end(res))
  }

const NEWEST = '/v1/journal?order=newest&limit=1'
const journal =
  (seq: number): http.RequestListener =>
  (_, res) =>
    void res.end(JSON.stringify({ journal: seq === 0 ? [] : [{ seq }] }))

test.each([0, 3])(
  'where the journal was rolled back to %d, it goes on from there, and says so',
  async (end) => {
    const { asked, seqs, notices } = await followed(
      [stream(event(8), (res) => res.destroy()), journal(end), stream(event(end + 1), () => {})],
      end + 1,
    )
    expect(seqs).toEqual([8, end + 1])
    expect(asked.at(-1)).toContain(`/v1/journal/stream?after=${end}&task=T`)
    expect(notices).toContainEqual(expect.stringContaining('as that of a restored store does'))
  },
)

test('it goes on behind the last entry, whatever ended the stream, and ends when it is told to', async () => {
  const { url, asked, seqs, notices } = await followed(
    [
      stream(event(8) + event(9), (res) => res.destroy()),
      (_, res) => void res.writeHead(503).end('{"error":"it stops"}'),
      journal(11),
      stream(`${event(11)}id: 12\ndata: {"se`, (res) => res.end()),
      journal(12),
      stream(event(12), () => {}),
    ],
    12,
  )
  expect(seqs).toEqual([8, 9, 11, 12])
  expect(asked.map((line) => line.split(' ')[1])).toEqual([
    '/v1/journal/stream?after=7&task=T',
    NEWEST,
    NEWEST,
    '/v1/journal/stream?after=9&task=T',
    NEWEST,
    '/v1/journal/stream?after=11&task=T',
  ])
  const lost = `The sidecar at ${url} has ended the stream: asking it again.`
  expect(notices).toEqual([lost, 'It answers again.', lost, 'It answers again.'])
})

test.each<[string, readonly http.RequestListener[], number, string]>([
  ['at the start', [(_, res) => void res.writeHead(503).end('{"error":"32 streams"}')], 69, '32 streams'],
  [
    'for good',
    [stream('', (res) => res.end()), journal(7), (_, res) => void res.writeHead(401).end('{"error":"no"}')],
    64,
    'no',
  ],
  ['that is none', [(_, res) => void res.end('{}')], 69, 'is no stream of events'],
])('a stream refused %s is a failure', async (_, listeners, exitCode, message) => {
  await expect(followed(listeners, 0)).rejects.toMatchObject({
    exitCode,
    message: expect.stringContaining(message),
  })
})
