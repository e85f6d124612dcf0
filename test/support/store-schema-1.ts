/** The tables of a store of schema version 1, as they were: never changed, so that what opens such a store is tested. */
export const SCHEMA_1 = `
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
  PRAGMA application_id = 1718051188;
  PRAGMA user_version = 1;
`
