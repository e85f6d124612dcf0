/** Where an answer of the resource goes: to the client as it comes, or to the client once it is on record. */
import type { Dispatcher } from 'undici'

type Controller = Dispatcher.DispatchController

export interface AnswerSink {
  /** The last status that the resource gave; 0 before the first. */
  readonly status: number
  start(controller: Controller, status: number, reason: string | undefined): void
  data(controller: Controller, chunk: Buffer): void
  /** The whole answer has come. */
  end(controller: Controller): void
  /** The client has gone: from now on the answer is read away. */
  leave(): void
}
