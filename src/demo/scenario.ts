/**
 * The incident, played once: straight to the ledger, or through the sidecar. Every step waits for the event
 * that the story needs before it (a report, a grant, the end of a lease), never for time to pass.
 */
import { Connection } from './connection.ts'
import { noteBelief, noteCheck, noteEnding, noteLate } from './narration.ts'
import { announce, begin, clearStage, type Stage, type Worker } from './stage.ts'
import {
  type Answer,
  BATCHES,
  CLOCK_STEP_MS,
  type Ending,
  LEASE_TTL_MS,
  type LedgerState,
  payouts,
  STOP_AT,
  TASK,
} from './story.ts'
import type { Timeline } from './timeline.ts'
import { describeExport, type Evidence } from './verdict.ts'
import { setWallClock } from './wall-clock.ts'

export async function play(timeline: Timeline, stage: Stage): Promise<Evidence> {
  const { a, ledger, sidecar } = stage
  announce(timeline, stage)
  begin(a, stage)
  const tokenA = await acquire(timeline, a)
  const portBefore = await exportUntilStopped(timeline, a)
  const stoppedAtMs = timeline.elapsedMs
  const tokenB = await takeOver(timeline, stage)
  continueStopped(timeline, a, stoppedAtMs)
  const { late, ending } = await finishLate(timeline, a, portBefore)
  const state = await readLedger(timeline, ledger.origin)
  await clearStage(timeline, stage)
  const tokens = { A: tokenA, B: tokenB }
  return { fenced: sidecar !== undefined, ledger: state, tokens, portBefore, late, ending }
}

async function acquire(timeline: Timeline, { writer, actor }: Worker): Promise<number> {
  const { token, leftMs } = await actor.next('acquired')
  const text = `acquires the lease on ${TASK} for ${LEASE_TTL_MS / 1000} s: token ${token}`
  timeline.add({ actor: writer, event: 'acquired', text, facts: { token, leftMs } })
  return token
}

/** @returns the port of A's connection. */
async function exportUntilStopped(timeline: Timeline, a: Worker): Promise<number> {
  let port = 0
  for (let batch = 1; batch < STOP_AT; batch++) port = (await writeBatch(timeline, a)).port
  noteCheck(timeline, await a.actor.next('checked'))
  a.actor.signal('SIGSTOP')
  const text = `STOPPED between its check and its write: SIGSTOP to process ${a.actor.pid}`
  timeline.add({ actor: 'A', event: 'stopped', text, tone: 'strong', facts: { pid: a.actor.pid } })
  return port
}

/** A's lease ends, B gets the next one and writes the whole export. */
async function takeOver(timeline: Timeline, stage: Stage): Promise<number> {
  const { b, authority } = stage
  begin(b, stage)
  const { holder } = await authority.actor.next('lease-awaited')
  timeline.add({ actor: 'B', event: 'waits', text: `asks for the lease: ${holder} holds it. B waits` })
  const { token } = await authority.actor.next('lease-ended')
  const ended = `${holder}'s lease ends. (${LEASE_TTL_MS / 1000} s here; in the incident it ended during a pause of 38 s)`
  timeline.add({ actor: 'authority', event: 'lease-ended', text: ended, facts: { holder, token } })
  const tokenB = await acquire(timeline, b)
  for (let batch = 1; batch <= BATCHES; batch++) await writeBatch(timeline, b)
  const { released } = await b.actor.next('done')
  const text = `its export is complete${released ? '; releases the lease' : ''}`
  timeline.add({ actor: 'B', event: 'done', text, facts: { released } })
  return tokenB
}

function continueStopped(timeline: Timeline, { actor, clockFile }: Worker, stoppedAtMs: number): void {
  // Both lie ready when it wakes: the clock is set before its first instruction, the rows are in its pipe.
  setWallClock(clockFile, -CLOCK_STEP_MS)
  actor.order({ payouts: payouts('A', STOP_AT) })
  const pausedMs = timeline.elapsedMs - stoppedAtMs
  const text = `CONTINUED after ${pausedMs} ms: SIGCONT, its wall clock set back ${CLOCK_STEP_MS} ms`
  timeline.add({
    actor: 'A',
    event: 'continued',
    text,
    tone: 'strong',
    facts: { pausedMs, clockStepMs: CLOCK_STEP_MS },
  })
  actor.signal('SIGCONT')
}

/** Whatever A still does, to its end. */
async function finishLate(
  timeline: Timeline,
  { actor }: Worker,
  portBefore: number,
): Promise<{ late: Answer[]; ending: Ending }> {
  const late: Answer[] = []
  for (;;) {
    const message = await actor.next('checked', 'answered', 'done')
    if (message.kind === 'checked') {
      noteCheck(timeline, message)
      actor.order({ payouts: payouts('A', message.batch) })
    } else if (message.kind === 'answered') {
      if (late.length === 0) noteBelief(timeline, message)
      late.push(message)
      noteLate(timeline, message, portBefore)
    } else {
      noteEnding(timeline, message.ending, message.released)
      return { late, ending: message.ending }
    }
  }
}

async function writeBatch(timeline: Timeline, { writer, actor }: Worker): Promise<Answer> {
  const { batch } = await actor.next('checked')
  actor.order({ payouts: payouts(writer, batch) })
  const answer = await actor.next('answered')
  const text = `writes batch ${batch} with token ${answer.token} from port ${answer.port}: ${answer.status}`
  timeline.add({ actor: writer, event: 'answered', text, facts: answer })
  return answer
}

async function readLedger(timeline: Timeline, origin: string): Promise<LedgerState> {
  const connection = new Connection(origin)
  const state = (await connection.send('GET', `/exports/${TASK}`)).body as LedgerState
  connection.close()
  const text = `has ${BATCHES} batches: ${describeExport(state)}`
  timeline.add({ actor: 'ledger', event: 'state', text, tone: 'strong', facts: state })
  return state
}
