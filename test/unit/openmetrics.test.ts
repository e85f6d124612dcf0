/** The reader of OpenMetrics that other tests trust: each thing that it must refuse, refused. */
import { expect, it } from 'vitest'
import { parseOpenMetrics } from '../support/openmetrics.ts'

const COUNTER = ['# HELP a Help \\"so\\"', '# TYPE a counter', 'a_total{b="x\\n\\"y\\\\"} 3 # {t="1"} 1 12.5']
const HISTOGRAM = [
  ...['# HELP h H', '# TYPE h histogram', 'h_bucket{le="1.0"} 1 # {} 0.5 1', 'h_bucket{le="+Inf"} 2'],
  ...['h_sum 7.5', 'h_count 2'],
]
const text = (...lines: readonly string[]) => `${[...lines, '# EOF'].join('\n')}\n`

it('reads what is valid', () => {
  const families = parseOpenMetrics(text(...COUNTER, ...HISTOGRAM, '# HELP g ', '# TYPE g gauge', 'g NaN'))
  expect([...families.keys()]).toEqual(['a', 'h', 'g'])
  expect(families.get('a')?.samples).toEqual([
    {
      name: 'a_total',
      labels: { b: 'x\n"y\\' },
      value: 3,
      exemplar: { labels: { t: '1' }, value: 1, timestamp: 12.5 },
    },
  ])
})

it.each<[string, readonly string[]]>([
  ['an empty line', [...COUNTER, '']],
  ['a comment', [...COUNTER, '# something']],
  ['a counter without _total', ['# HELP a A', '# TYPE a counter', 'a 1']],
  ['a counter that is called so', ['# HELP a_total A', '# TYPE a_total counter', 'a_total 1']],
  ['a negative counter', ['# HELP a A', '# TYPE a counter', 'a_total -1']],
  ['Nan', ['# HELP g G', '# TYPE g gauge', 'g Nan']],
  ['a family in two places', [...COUNTER, ...HISTOGRAM, ...COUNTER]],
  ['a sample behind another family', [...COUNTER, ...HISTOGRAM, 'a_total 1']],
  ['a sample twice', [...COUNTER, COUNTER[2] as string]],
  ['a label twice', ['# HELP g G', '# TYPE g gauge', 'g{a="1",a="2"} 1']],
  ['a wrong escape', ['# HELP g G', '# TYPE g gauge', 'g{a="\\t"} 1']],
  ['a wrong escape in help', ['# HELP g a\\tb', '# TYPE g gauge', 'g 1']],
  ['an exemplar of a gauge', ['# HELP g G', '# TYPE g gauge', 'g 1 # {} 1 1']],
  ['a long exemplar', ['# HELP a A', '# TYPE a counter', `a_total 1 # {t="${'x'.repeat(128)}"} 1 1`]],
  ['a name that a sample has', [...COUNTER, '# HELP a_total G', '# TYPE a_total gauge', 'a_total 1']],
  ['a bound that is not canonical', HISTOGRAM.map((line) => line.replace('1.0', '1'))],
  ['an exemplar in the wrong bucket', HISTOGRAM.map((line) => line.replace('0.5', '1.5'))],
  ['buckets out of order', HISTOGRAM.map((line) => line.replace('} 1', '} 3'))],
  ['a wrong count', HISTOGRAM.map((line) => line.replace('count 2', 'count 3'))],
  ['no sum', HISTOGRAM.filter((line) => !line.startsWith('h_sum'))],
  ['no last bucket', HISTOGRAM.filter((line) => !line.includes('+Inf'))],
  ['a number in another base', ['# HELP g G', '# TYPE g gauge', 'g 0x1']],
])('refuses %s', (_what, lines) => {
  expect(() => parseOpenMetrics(text(...lines))).toThrow()
})

it('refuses what has no end, or something behind it', () => {
  expect(() => parseOpenMetrics(`${COUNTER.join('\n')}\n`)).toThrow('# EOF')
  expect(() => parseOpenMetrics(`${text(...COUNTER)}\n`)).toThrow('# EOF')
})
