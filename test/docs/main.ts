/** `node test/docs/main.ts`: writes the pages that are made from the program. A test says when that is due. */
import fs from 'node:fs'
import path from 'node:path'
import { configurationReference } from './configuration.ts'

fs.writeFileSync(path.join(import.meta.dirname, '../../docs/configuration.md'), configurationReference())
