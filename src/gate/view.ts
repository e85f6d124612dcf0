/**
 * What is under way at the gate, for people who look on: open writes and handovers in progress. Changes nothing.
 */
import type { Clock } from '../clock.ts'
import type { Admission } from './admission.ts'
import type { TaskState } from './task-state.ts'
import type { Tasks } from './tasks.ts'

/** A write that is open. */
export interface OpenWrite {
  readonly admission: Admission
  readonly ageMs: number
}

/** A task with an open write or a handover in progress. */
export interface BusyTask {
  readonly task: string
  readonly openWrites: number
  /** `undefined` if none is open. */
  readonly oldestOpenWriteMs: number | undefined
  /** There is one while its new holder has to wait. */
  readonly handover: PendingHandover | undefined
}

export interface PendingHandover {
  /** Since the raise; `undefined` if that was before this process began. */
  readonly waitedMs: number | undefined
}

export class GateView {
  readonly #tasks: Tasks
  readonly #clock: Clock
  readonly #inGrace: () => boolean

  constructor(tasks: Tasks, clock: Clock, inGrace: () => boolean) {
    this.#tasks = tasks
    this.#clock = clock
    this.#inGrace = inGrace
  }

  /** Tasks whose new holder has to wait for lower writes. */
  get handoversPending(): number {
    let pending = 0
    for (const task of this.#tasks.active) if (this.#isPending(task)) pending++
    return pending
  }

  /** Every task with an open write or a handover in progress, in no order. */
  busy(): BusyTask[] {
    const busy: BusyTask[] = []
    for (const task of this.#tasks.active) {
      const state = this.#state(task)
      if (state.openWrites > 0 || state.handover) busy.push(state)
    }
    return busy
  }

  /** One task, busy or not. */
  task(name: string): BusyTask {
    const task = this.#tasks.get(name)
    if (task) return this.#state(task)
    return { task: name, openWrites: 0, oldestOpenWriteMs: undefined, handover: undefined }
  }

  /** The open writes of a task, oldest first. */
  open(name: string): OpenWrite[] {
    return this.#open(this.#tasks.get(name))
  }

  #open(task: TaskState | undefined): OpenWrite[] {
    const now = this.#clock.now()
    return (task?.inFlight.all ?? []).map(({ admission, since }) => ({ admission, ageMs: now - since }))
  }

  #state(task: TaskState): BusyTask {
    const { handoverSince, inFlight } = task
    const waitedMs = handoverSince === undefined ? undefined : this.#clock.now() - handoverSince
    return {
      task: task.name,
      openWrites: inFlight.size,
      oldestOpenWriteMs: this.#open(task)[0]?.ageMs,
      handover: this.#isPending(task) ? { waitedMs } : undefined,
    }
  }

  #isPending({ record, lowerOpen }: TaskState): boolean {
    return record?.mark.recorded === true && !record.mark.complete && (lowerOpen || this.#inGrace())
  }
}
