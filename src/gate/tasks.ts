/**
 * The tasks in memory. Invariant 6: a task is pinned while a request, an operation or a permit of it lives; only an
 * idle one moves to the bounded cache, from which it may vanish: the store has it.
 */
import { LRUCache } from 'lru-cache'
import type { TaskRecord } from '../store/mark-store.ts'
import { AllInFlight } from './in-flight.ts'
import { TaskState } from './task-state.ts'

/** Tasks by their names, or all those under a prefix. */
export type Gone = readonly string[] | { readonly prefix: string }

export class Tasks {
  readonly inFlight = new AllInFlight()
  readonly #active = new Map<string, TaskState>()
  readonly #idle: LRUCache<string, TaskRecord>

  /** @param cached states of idle tasks kept, at most. */
  constructor(cached: number) {
    this.#idle = new LRUCache({ max: cached })
  }

  get active(): Iterable<TaskState> {
    return this.#active.values()
  }

  /** The task, if it is in use. */
  get(name: string): TaskState | undefined {
    return this.#active.get(name)
  }

  enter(name: string): TaskState {
    let task = this.#active.get(name)
    if (!task) {
      task = new TaskState(name, this.#idle.get(name), this.inFlight)
      this.#active.set(name, task)
    }
    task.users++
    return task
  }

  /** What is in memory of these is no longer what is on record. */
  forget(gone: Gone): void {
    const names = 'prefix' in gone ? this.#under(gone.prefix) : gone
    for (const name of names) {
      this.#idle.delete(name)
      this.#active.get(name)?.outdate()
    }
  }

  #under(prefix: string): string[] {
    return [...this.#idle.keys(), ...this.#active.keys()].filter((name) => name.startsWith(prefix))
  }

  leave(task: TaskState): void {
    task.users--
    this.leaveIfIdle(task)
  }

  leaveIfIdle(task: TaskState): void {
    if (!task.idle || this.#active.get(task.name) !== task) return
    task.cancelDrainLimit?.()
    this.#active.delete(task.name)
    if (task.record) this.#idle.set(task.name, task.record)
    else this.#idle.delete(task.name)
  }
}
