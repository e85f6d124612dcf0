/** The tables of `marks.db`, and what identifies the file as fencegate's. */

export const STORE_FILE = 'marks.db'
/** 'fgat': SQLite's application_id of a fencegate store. */
export const APPLICATION_ID = 0x66676174
export const SCHEMA_VERSION = 1

/**
 * `marks.complete` is 1 once no write with a lower token can be open.
 *
 * `writes` holds a row for each intent (no `ended_at_ms`) and each unknown outcome (no `resolution` until it
 * is resolved). `acts` are operators' acts. `meta` has one row: `clean_stop` is 1 only between a clean stop
 * and the next start; `intents_complete` says that every route of the process that has the store open
 * records intents; `floor` is the mark of a task without a row.
 */
export const SCHEMA = `
  CREATE TABLE marks (
    task     TEXT PRIMARY KEY,
    token    INTEGER NOT NULL CHECK (token > 0),
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    holder   TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE frozen (
    task TEXT PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE writes (
    id             TEXT PRIMARY KEY,
    task           TEXT NOT NULL,
    token          INTEGER NOT NULL,
    holder         TEXT,
    holds          INTEGER NOT NULL CHECK (holds IN (0, 1)),
    route          TEXT NOT NULL,
    method         TEXT NOT NULL,
    target         TEXT NOT NULL,
    operation      TEXT,
    admitted_at_ms INTEGER NOT NULL,
    reason         TEXT,
    bytes_sent     INTEGER,
    ended_at_ms    INTEGER,
    resolution     TEXT CHECK (resolution IN ('applied', 'not-applied', 'compensated')),
    resolved_by    TEXT,
    note           TEXT,
    resolved_at_ms INTEGER
  ) STRICT;
  CREATE INDEX writes_unresolved ON writes (task) WHERE resolution IS NULL;
  CREATE TABLE acts (
    id     INTEGER PRIMARY KEY,
    at_ms  INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    task   TEXT NOT NULL,
    token  INTEGER,
    author TEXT NOT NULL,
    reason TEXT NOT NULL
  ) STRICT;
  CREATE TABLE meta (
    one              INTEGER PRIMARY KEY CHECK (one = 1),
    created_at_ms    INTEGER NOT NULL,
    commit_sequence  INTEGER NOT NULL,
    clean_stop       INTEGER NOT NULL CHECK (clean_stop IN (0, 1)),
    intents_complete INTEGER NOT NULL CHECK (intents_complete IN (0, 1)),
    floor            INTEGER NOT NULL CHECK (floor >= 0)
  ) STRICT;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`
