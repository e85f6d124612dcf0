/** Faults of what operators act by: their acts, who may do what, and the store's life. Each must be caught. */
import { OPERATE_FAULTS } from './planted/operate.ts'
import { plantAll } from './planted/plant.ts'

plantAll(OPERATE_FAULTS)
