/** What the dashboard says: numbers and times, what is going on, and whether it hears from its sidecar. */
import { describe, expect, it } from 'vitest'
import { dashboard } from '../support/dashboard.ts'

const { duration, grouped, localTime, rate, shortened, size, utcTime } = await dashboard('format')
const { connectionOf, GONE_MS } = await dashboard('connection')
const { situation } = await dashboard('situation')
const { ApiError } = await dashboard('api')

describe('format', () => {
  it.each([
    [0, '0 ms'],
    [999.9, '999 ms'],
    [3250, '3.2 s'],
    [9999, '9.9 s'],
    [59_999, '59 s'],
    [250_000, '4 min 10 s'],
    [7_500_000, '2 h 5 min'],
    [86_400_000, '1 d'],
    [undefined, '–'],
  ])('shows a duration of %s ms as %s', (ms, shown) => expect(duration(ms)).toBe(shown))

  it('keeps every digit of a token, in groups of three', () => {
    expect(grouped('9223372036854775807').replaceAll('\u202f', ' ')).toBe('9 223 372 036 854 775 807')
    expect([grouped(7), grouped('999')]).toEqual(['7', '999'])
  })

  it.each([
    [0, '0'],
    [0.001, '<0.01'],
    [0.5, '0.50'],
    [3.26, '3.3'],
    [99.96, '100'],
    [null, '–'],
  ])('shows a rate of %s as %s', (perSecond, shown) => expect(rate(perSecond)).toBe(shown))

  it('shows sizes in binary units', () => {
    expect([size(94_208), size(100), size(76_877_451_264)]).toEqual(['92.0 KiB', '100 B', '71.6 GiB'])
  })

  it('shows local time, with the date of another day, and UTC beside it', () => {
    const at = new Date(2026, 10, 29, 2, 3, 4).getTime()
    expect(localTime(at, at + 1000)).toBe('02:03:04')
    expect(localTime(at, at + 86_400_000)).toBe('2026-11-29 02:03:04')
    expect(utcTime(Date.UTC(2026, 10, 29, 1, 2, 3))).toBe('2026-11-29 01:02:03 UTC')
  })

  it('shortens a long text to what was asked for', () => {
    expect([shortened('abc', 3), shortened('abcd', 3)]).toEqual(['abc', 'ab…'])
  })
})

describe('connectionOf', () => {
  const heard = (failure: unknown, forMs = 0, answeredAtMs: number | undefined = 1000) =>
    connectionOf({ failure, since: 2000, answeredAtMs, nowMs: 2000 + forMs })
  const nothing = new ApiError(0, 'the sidecar could not be reached')

  it('is live once there was an answer', () => {
    expect(connectionOf({ failure: undefined, nowMs: 0 }).state).toBe('connecting')
    expect(heard(undefined)).toMatchObject({ state: 'live', level: 'ok' })
  })

  it('takes a silent sidecar for gone only after a while', () => {
    expect(heard(nothing, GONE_MS - 1).state).toBe('reconnecting')
    expect(heard(nothing, GONE_MS)).toMatchObject({
      state: 'gone',
      remedy: expect.stringContaining('its log'),
    })
  })

  it('says what to do where a token is needed, and what the sidecar said where it refuses', () => {
    expect(heard(new ApiError(401, 'no token'))).toMatchObject({
      state: 'token',
      remedy: expect.stringContaining('admin.tokenFile'),
    })
    expect(heard(new ApiError(421, 'the Host is foreign'))).toMatchObject({
      state: 'refused',
      remedy: expect.stringContaining('the Host is foreign'),
    })
    expect(heard(new ApiError(503, 'starting'))).toMatchObject({
      state: 'reconnecting',
      remedy: 'The sidecar says: starting. Asking again.',
    })
  })
})

describe('situation', () => {
  const quiet = {
    connection: { state: 'live', level: 'ok', label: 'Live' },
    status: {
      phase: 'serving',
      grace: false,
      openWrites: 3,
      oldestOpenWriteMs: 40,
      handoversPending: 0,
      frozen: 0,
      unresolved: 0,
      upstreams: [{ origin: 'http://resource', state: 'reachable' }],
    },
    staleLastMinute: 0,
    latest: undefined,
    holding: 0,
  }
  const with_ = (status: object, more: object = {}) =>
    situation({ ...quiet, ...more, status: { ...quiet.status, ...status } })

  it('is quiet where nothing wants attention', () => {
    expect(situation(quiet)).toEqual([{ level: 'ok', text: expect.stringMatching(/^Quiet/) }])
  })

  it('names the task, the tokens and the client of the latest stale write', () => {
    const latest = {
      seq: 1,
      atMs: 1,
      kind: 'rejection',
      task: 'k',
      token: '7',
      data: { highest: '9', client: '10.0.0.7' },
    }
    expect(with_({}, { staleLastMinute: 12, latest })).toEqual([
      {
        level: 'bad',
        text: '12 stale writes were rejected in the last minute. Latest:',
        task: 'k',
        more: 'token 7 against 9, from 10.0.0.7.',
      },
    ])
  })

  it.each([
    [{ unresolved: 1 }, { holding: 1 }, '1 outcome is unknown; 1 keeps later holders out.'],
    [{ unresolved: 3 }, { holding: 2 }, '3 outcomes are unknown; 2 keep later holders out.'],
    [{ unresolved: 2 }, {}, '2 outcomes are unknown.'],
    [{ handoversPending: 1 }, {}, '1 handover waits.'],
    [{ oldestOpenWriteMs: 61_000 }, {}, 'The oldest open write is 1 min 1 s old.'],
    [{ frozen: 2 }, {}, '2 tasks are frozen.'],
    [
      { upstreams: [{ origin: 'http://r', state: 'unreachable' }] },
      {},
      "The resource http://r can't be reached.",
    ],
  ])('of %j says so', (status, more, text) => {
    expect(with_(status, more).map((finding: { text: string }) => finding.text)).toEqual([text])
  })

  it('says of a lost connection nothing but that, because the rest may be old', () => {
    const connection = { state: 'gone', level: 'bad', label: 'gone', remedy: 'Look at its log.' }
    expect(with_({ frozen: 2 }, { connection })).toEqual([{ level: 'bad', text: 'Look at its log.' }])
  })

  it('says that the page is of another version than the sidecar', () => {
    expect(with_({ version: '0.2.0' }, { loaded: '0.2.0' })[0].level).toBe('ok')
    expect(with_({ version: '0.2.0' }, { loaded: '0.1.0' })[0].text).toContain('load it again')
  })

  it('says that the sidecar stops, starts or waits out its grace', () => {
    expect(with_({ phase: 'stopping' })[0].text).toContain('stopping')
    expect(with_({ phase: 'starting' })[0].text).toContain('starting')
    expect(with_({ grace: true })[0].text).toContain('grace')
  })
})
