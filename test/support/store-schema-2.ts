/** The tables of a store of schema version 2, as they were: never changed, so that what opens such a store is tested. */
export const SCHEMA_2 = `
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
  CREATE TABLE operations (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    scope         TEXT NOT NULL,
    task          TEXT NOT NULL,
    key           TEXT NOT NULL,
    fingerprint   TEXT NOT NULL,
    provider_key  TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('open', 'failed', 'unknown', 'done')),
    ever_unknown  INTEGER NOT NULL CHECK (ever_unknown IN (0, 1)),
    first_at_ms   INTEGER NOT NULL,
    last_at_ms    INTEGER NOT NULL,
    key_until_ms  INTEGER NOT NULL,
    keep_until_ms INTEGER NOT NULL CHECK (keep_until_ms >= key_until_ms),
    status        INTEGER,
    headers       TEXT,
    body_kept     TEXT CHECK (body_kept IN ('plain', 'encrypted', 'none', 'too-large', 'erased')),
    body          BLOB,
    CHECK ((status IS NULL) = (body_kept IS NULL) AND (headers IS NULL) = (body_kept IS NULL)),
    CHECK ((body IS NOT NULL) = coalesce(body_kept IN ('plain', 'encrypted'), 0))
  ) STRICT;
  CREATE INDEX operations_task ON operations (task);
  CREATE INDEX operations_undone ON operations (state) WHERE state <> 'done';
  CREATE INDEX operations_finished ON operations (keep_until_ms) WHERE state IN ('done', 'failed');
  CREATE TABLE attempts (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    operation   INTEGER NOT NULL,
    task        TEXT NOT NULL,
    token       INTEGER,
    holder      TEXT,
    route       TEXT NOT NULL,
    method      TEXT NOT NULL,
    target      TEXT NOT NULL,
    at_ms       INTEGER NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome IN ('open', 'answered', 'not-sent', 'unknown')),
    status      INTEGER,
    final       INTEGER NOT NULL CHECK (final IN (0, 1)),
    reason      TEXT,
    ended_at_ms INTEGER,
    resolution  TEXT CHECK (resolution IN ('applied', 'not-applied', 'compensated'))
  ) STRICT;
  CREATE INDEX attempts_operation ON attempts (operation);
  CREATE INDEX attempts_task ON attempts (task);
  CREATE INDEX attempts_unsettled ON attempts (operation) WHERE outcome IN ('open', 'unknown') AND resolution IS NULL;
  CREATE TABLE journal (
    seq   INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    task  TEXT,
    token INTEGER,
    data  TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_task ON journal (task) WHERE task IS NOT NULL;
  PRAGMA user_version = 2;
`
