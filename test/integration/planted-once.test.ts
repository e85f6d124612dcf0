/** Faults of operations. Each must be caught. */
import { ONCE_FAULTS } from './planted/once.ts'
import { plantAll } from './planted/plant.ts'

plantAll(ONCE_FAULTS)
