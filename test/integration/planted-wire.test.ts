/** Faults of what stands around the gate: what is sent, what is stored, what a restart remembers. Each must be caught. */

import { plantAll } from './planted/plant.ts'
import { WIRE_FAULTS } from './planted/wire.ts'

plantAll(WIRE_FAULTS)
