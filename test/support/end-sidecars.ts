/** A setup file: what a test file has started ends with it, also where several files share a process. */
import { afterAll } from 'vitest'
import { endAll } from './sidecar.ts'

afterAll(endAll)
