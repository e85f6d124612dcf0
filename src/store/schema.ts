/** The tables of `marks.db`, and what identifies the file as fencegate's. */

export const STORE_FILE = 'marks.db'
/** 'fgat': SQLite's application_id of a fencegate store. */
export const APPLICATION_ID = 0x66676174
export const SCHEMA_VERSION = 1

/**
 * `marks.complete` is 1 once no write with a lower token can be open. `meta` has one row: `clean_stop` is 1
 * only between a clean stop and the next start; `floor` is the mark of a task without a row.
 */
export const SCHEMA = `
  CREATE TABLE marks (
    task     TEXT PRIMARY KEY,
    token    INTEGER NOT NULL CHECK (token > 0),
    complete INTEGER NOT NULL CHECK (complete IN (0, 1))
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE meta (
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    created_at_ms   INTEGER NOT NULL,
    commit_sequence INTEGER NOT NULL,
    clean_stop      INTEGER NOT NULL CHECK (clean_stop IN (0, 1)),
    floor           INTEGER NOT NULL CHECK (floor >= 0)
  ) STRICT;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`
