/**
 * The file that a backup is until it is whole. Two sidecars that write to one name use one name for their drafts too, and
 * the later one takes it: so a draft is known by its inode, or one store's backup would pass for the other's.
 */
import fs from 'node:fs'
import { StoreError } from './mark-store.ts'

export interface Draft {
  readonly name: string
  readonly inode: number
}

/** Whether the name is this draft's still. */
export function isInPlace({ name, inode }: Draft): boolean {
  return fs.lstatSync(name, { throwIfNoEntry: false })?.ino === inode
}

export function replaced({ name }: Draft): string {
  return `${name} was removed or replaced while it was written: another backup is made to the same name`
}

export function requireInPlace(draft: Draft): void {
  if (!isInPlace(draft)) throw new StoreError(replaced(draft))
}
