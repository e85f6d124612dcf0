/**
 * The dashboard's modules that don't touch the page, for tests in Node. They are plain JavaScript with a compiler
 * configuration of their own, which the tests' doesn't read: here they have no types.
 */
import path from 'node:path'

export const DASHBOARD = path.join(import.meta.dirname, '../../src/admin/dashboard')

/** @param name of the file, without `.js`. */
export const dashboard = (name: string) => import(path.join(DASHBOARD, `${name}.js`))
