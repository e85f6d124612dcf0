/**
 * What libfaketime leaves in shared memory of a process that was killed: a semaphore by the process's number, which a
 * later process of that number would wait for without end, before its first line.
 */
import fs from 'node:fs'

const SHARED = '/dev/shm'
const NAME = /^(?:sem\.)?faketime_(?:sem|shm)_(\d+)$/

/** Takes away what is left of this process, which has ended. */
export function forget(pid: number): void {
  for (const name of [`sem.faketime_sem_${pid}`, `faketime_shm_${pid}`]) {
    fs.rmSync(`${SHARED}/${name}`, { force: true })
  }
}

/** Takes away what is left of all that have ended. */
export function forgetEnded(): void {
  const names = fs.existsSync(SHARED) ? fs.readdirSync(SHARED) : []
  const pids = names.flatMap((name) => NAME.exec(name)?.[1] ?? [])
  for (const pid of new Set(pids)) if (!fs.existsSync(`/proc/${pid}`)) forget(Number(pid))
}
