/** Faults of the gate: marks, permits, handovers. Each must be caught. */
import { GATE_FAULTS } from './planted/gate.ts'
import { plantAll } from './planted/plant.ts'

plantAll(GATE_FAULTS)
