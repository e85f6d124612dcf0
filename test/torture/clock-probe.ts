/** A process that tells its clocks when it is asked. */
import { now } from '../support/history-log.ts'

process.on('message', () => process.send?.({ monotonicMs: now(), wallMs: Date.now() }))
process.on('disconnect', () => process.exit())
