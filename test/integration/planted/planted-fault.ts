/**
 * One broken thing: what a wrong program would do, and the tests that must turn red on it.
 *
 * `find` stands exactly once in the file, or the fault can't be planted and its test fails: the lists can't rot.
 */
export interface PlantedFault {
  readonly name: string
  /** Below `src/`. */
  readonly file: string
  readonly find: string
  readonly plant: string
  /** Test files, below `test/`; one red test among them is enough. */
  readonly tests: readonly string[]
}
