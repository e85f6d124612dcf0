/**
 * The shapes of the admin API's answers, as far as this page reads them. Tokens are strings here too: a number would
 * round those past 2^53. Only types: nothing loads this file.
 *
 * @typedef {'starting' | 'serving' | 'stopping'} Phase
 *
 * @typedef {object} Status
 * @property {string} version
 * @property {Phase} phase
 * @property {boolean} grace
 * @property {number} startedAtMs
 * @property {number} nowMs
 * @property {number} openWrites
 * @property {number} [oldestOpenWriteMs]
 * @property {number} handoversPending
 * @property {number} tasks
 * @property {number} frozen
 * @property {number} unresolved
 * @property {number} commitSequence
 * @property {number} streams
 * @property {Decision[]} decisions
 * @property {number} staleRejections
 * @property {number} raises
 * @property {{ count: number, sumMs: number }} commits
 * @property {{ origin: string, state: 'unknown' | 'reachable' | 'unreachable' }[]} upstreams
 *
 * @typedef {{ route: string, decision: string, count: number }} Decision
 *
 * @typedef {object} Task
 * @property {string} task
 * @property {string} mark
 * @property {boolean} recorded
 * @property {boolean} complete
 * @property {string} [holder]
 * @property {boolean} frozen
 * @property {number} [usedAtMs]
 * @property {number} openWrites
 * @property {number} [oldestOpenWriteMs]
 * @property {{ waitedMs: number }} [handover]
 *
 * @typedef {object} OpenWrite
 * @property {string} route
 * @property {string} method
 * @property {string} target
 * @property {string} [operation]
 * @property {string} token
 * @property {string} [holder]
 * @property {number} ageMs
 *
 * @typedef {Task & {
 *   passes: string, open: OpenWrite[], held: { id: string, token: string, operation?: string }[], rejections: Entry[],
 * }} TaskPage
 *
 * @typedef {object} Entry
 * @property {number} seq
 * @property {number} atMs
 * @property {string} kind
 * @property {string} [task]
 * @property {string} [token]
 * @property {Readonly<Record<string, unknown>>} data
 *
 * @typedef {object} Unknown
 * @property {string} id
 * @property {string} task
 * @property {string} token
 * @property {string} [holder]
 * @property {boolean} holds
 * @property {string} route
 * @property {string} method
 * @property {string} target
 * @property {string} [operation]
 * @property {string} reason
 * @property {number} [bytesSent]
 * @property {number} admittedAtMs
 * @property {number} endedAtMs
 * @property {string} [resolution]
 * @property {string} [resolvedBy]
 *
 * @typedef {{ task: string, mark: string, frozen: boolean, passes: string, open: OpenWrite[] }} ActAnswer
 * @typedef {{ task: string, mark: string, to: string, confirm: string, expiresInMs: number, warning: string }} ResetCheck
 *
 * @typedef {object} StoreState
 * @property {string} path
 * @property {number} schema
 * @property {number} createdAtMs
 * @property {boolean} created
 * @property {boolean} unclean
 * @property {number} tasks
 * @property {number} frozen
 * @property {number} unresolved
 * @property {number} commitSequence
 * @property {number} bytes
 * @property {number} walBytes
 * @property {number} freeBytes
 * @property {string} floor
 * @property {{ prefix: string, floor: string }[]} floors
 *
 * @typedef {object} ConfigState
 * @property {string} [file]
 * @property {unknown} config
 * @property {string[]} warnings
 * @property {{ atMs: number, cause: string, result: string, message?: string }} [lastReload]
 */
export {}
