/** This program's version, from the package it is part of: both `src/` and `dist/` stand beside it. */
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export const version = manifest.version
