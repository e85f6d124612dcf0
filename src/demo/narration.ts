/**
 * What the timeline says of A, whose beliefs are the point of the story: each line tells what A saw, not what
 * the demo expects.
 */
import type { Answer, Ending } from './story.ts'
import type { Timeline } from './timeline.ts'

export function noteCheck(timeline: Timeline, { batch, leftMs }: { batch: number; leftMs: number }): void {
  const text = `looks at its lease: ${Math.round(leftMs)} ms left by its clock; takes up batch ${batch}`
  timeline.add({ actor: 'A', event: 'checked', text, facts: { batch, leftMs } })
}

export function noteBelief(timeline: Timeline, { batch, leftMs }: Answer): void {
  const text =
    leftMs > 0
      ? `still believes itself the holder: by its clock it has ${Math.round(leftMs)} ms left`
      : 'still believes itself the holder: it looked before it was stopped'
  timeline.add({ actor: 'A', event: 'believes', text, facts: { batch, leftMs } })
}

export function noteLate(timeline: Timeline, answer: Answer, portBefore: number): void {
  const { batch, status, code, detail, retry, port } = answer
  const connection = port === portBefore ? 'its old connection' : 'a NEW connection'
  const outcome = code === undefined ? `${status}, ACCEPTED` : `REFUSED, ${status} ${code}`
  const text = `on ${connection} (port ${port}) writes batch ${batch}: ${outcome}`
  const tone = code === undefined ? 'bad' : 'good'
  timeline.add({ actor: 'A', event: 'answered', text, tone, facts: { ...answer, late: true } })
  if (code === undefined) return
  timeline.add({
    actor: 'A',
    event: 'told',
    text: `is told: ${detail} (retry: ${retry})`,
    facts: { detail, retry },
  })
}

export function noteEnding(timeline: Timeline, ending: Ending, released: boolean): void {
  const text = {
    completed: `thinks its export complete; ${released ? 'releases' : 'only on release it learns that it lost'} the lease`,
    'told-to-stop': 'stops, as it was told',
    'lease-over': 'finds its lease over by its clock, and stops',
  }[ending]
  timeline.add({ actor: 'A', event: 'done', text, facts: { ending, released } })
}
