/** Which format a scraper gets, and that two of different kinds at the same time each get their own. */
import { describe, expect, it } from 'vitest'
import { negotiate } from '../../src/metrics/format.ts'
import { Metrics } from '../../src/metrics/metrics.ts'

const OPEN_METRICS = 'application/openmetrics-text'

describe('the Accept field', () => {
  it.each([
    [OPEN_METRICS],
    [`${OPEN_METRICS}; version=1.0.0; charset=utf-8`],
    [`${OPEN_METRICS};version="1.0.0"`],
    ['Application/OpenMetrics-Text;Version=1.0.0'],
    [`text/plain;q=0.5, ${OPEN_METRICS};q=0.5`],
    [`text/plain;version=1.0.0, ${OPEN_METRICS};q=0.1`],
    // What Prometheus 3 sends.
    [
      `${OPEN_METRICS};version=1.0.0;escaping=allow-utf-8;q=0.6,${OPEN_METRICS};version=0.0.1;q=0.5,` +
        'text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2',
    ],
  ])('%s asks for OpenMetrics', (accept) => {
    expect(negotiate(accept)).toBe('openmetrics')
  })

  it.each([
    [undefined],
    [''],
    ['*/*'],
    ['text/html,application/xhtml+xml,*/*;q=0.8'],
    ['application/*'],
    ['text/plain'],
    [`${OPEN_METRICS};q=0`],
    [`${OPEN_METRICS};q=0.3, text/plain;q=0.7`],
    [`${OPEN_METRICS};q=0.3, */*;q=0.7`],
    [`${OPEN_METRICS};version=0.0.1`],
    [`${OPEN_METRICS};version=2.0.0`],
    [`${OPEN_METRICS};q=high`],
    [`${OPEN_METRICS};q=1.5`],
    [`x${OPEN_METRICS}`],
    [',;=,;;q=,"'],
  ])('%s asks for plain text, or for nothing that there is', (accept) => {
    expect(negotiate(accept)).toBe('text')
  })

  it('refuses plain text by name, whatever a wildcard says', () => {
    expect(negotiate(`text/plain;q=0, */*, ${OPEN_METRICS};q=0.1`)).toBe('openmetrics')
  })
})

const metrics = new Metrics('1.2.3', {
  openWrites: () => 0,
  oldestOpenWriteSeconds: () => 0,
  handoversPending: () => 0,
  tasks: () => 0,
  frozenTasks: () => 0,
  unresolvedOutcomes: () => 0,
  commitSequence: () => 0,
  storeCreatedSeconds: () => 0,
})

describe('a scrape', () => {
  it('is in the format that was asked for, with another under way', async () => {
    const accepts = [OPEN_METRICS, undefined, OPEN_METRICS, 'text/plain']
    for (const [i, { contentType, body }] of (
      await Promise.all(accepts.map((accept) => metrics.scrape(accept)))
    ).entries()) {
      const open = accepts[i] === OPEN_METRICS
      expect(contentType).toMatch(
        open ? /^application\/openmetrics-text; version=1\.0\.0;/ : /^text\/plain; version=0\.0\.4;/,
      )
      expect(body.endsWith('\n# EOF\n')).toBe(open)
      expect(body).toContain(
        `# TYPE fencegate_raises${open ? '' : '_total'} counter\nfencegate_raises_total 0\n`,
      )
    }
  })
})

describe('a snapshot', () => {
  it('has what happened, in numbers', () => {
    metrics.decided('a', 'forwarded')
    metrics.decided('a', 'forwarded')
    metrics.decided('b', 'stale-token')
    metrics.decided('b', 'would-stale-token')
    metrics.raised(2)
    metrics.raised(3.5)
    expect(metrics.snapshot()).toEqual({
      decisions: [
        { route: 'a', decision: 'forwarded', count: 2 },
        { route: 'b', decision: 'stale-token', count: 1 },
        { route: 'b', decision: 'would-stale-token', count: 1 },
      ],
      staleRejections: 1,
      raises: 2,
      commits: { count: 2, sumMs: 5.5 },
    })
  })
})
