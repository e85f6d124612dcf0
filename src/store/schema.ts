/** The tables of `marks.db`, and what identifies the file as fencegate's. */

export const STORE_FILE = 'marks.db'
/** 'fgat': SQLite's application_id of a fencegate store. */
export const APPLICATION_ID = 0x66676174
export const SCHEMA_VERSION = 3

/**
 * `marks.complete` is 1 once no write with a lower token can be open.
 *
 * `writes` holds a row for each intent (no `ended_at_ms`) and each unknown outcome (no `resolution` until it
 * is resolved). `meta` has one row: `clean_stop` is 1 only between a clean stop and the next start; `intents_complete` says that every route of the process that has the store open
 * records intents; `floor` is the mark of a task without a row.
 */
const VERSION_1 = `
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
`

/** Attempts that an operation's state hangs on: in the words of the index, or SQLite doesn't use it. */
export const UNSETTLED = "outcome IN ('open', 'unknown') AND resolution IS NULL"
/** Operations that may be forgotten once their time has come; in the words of the index. */
export const FINISHED = "state IN ('done', 'failed')"

/**
 * `seq` gives the order in which records were made, whatever the clock does. `attempts.operation` is the `seq` of its
 * operation; its `id` is that of its write. An answer has all of `status`, `headers` and `body_kept` or none.
 * `key_until_ms` is when the provider has forgotten the operation's key, at the latest.
 *
 * The operators' acts are in the journal too, where they age.
 */
const VERSION_2 = `
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
  CREATE INDEX operations_finished ON operations (keep_until_ms) WHERE ${FINISHED};
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
  CREATE INDEX attempts_unsettled ON attempts (operation) WHERE ${UNSETTLED};
  CREATE TABLE journal (
    seq   INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    kind  TEXT NOT NULL,
    task  TEXT,
    token INTEGER,
    data  TEXT NOT NULL
  ) STRICT;
  CREATE INDEX journal_task ON journal (task) WHERE task IS NOT NULL;
  INSERT INTO journal (at_ms, kind, task, token, data)
    SELECT at_ms, 'act', task, token, json_object('act', kind, 'by', author, 'reason', reason) FROM acts ORDER BY id;
  PRAGMA user_version = 2;
`

/**
 * `marks.used_at_ms` is when the mark was last raised, settled, or noted as used; of a mark from before this version, when
 * it was brought here. `floors` are at which tasks under a prefix start that have no mark. Acts are in the journal alone.
 */
const VERSION_3 = `
  CREATE TABLE used_marks (
    task       TEXT PRIMARY KEY,
    token      INTEGER NOT NULL CHECK (token > 0),
    complete   INTEGER NOT NULL CHECK (complete IN (0, 1)),
    holder     TEXT,
    used_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO used_marks
    SELECT task, token, complete, holder, CAST(unixepoch('subsec') * 1000 AS INTEGER) FROM marks;
  DROP TABLE marks;
  ALTER TABLE used_marks RENAME TO marks;
  CREATE TABLE floors (
    prefix TEXT PRIMARY KEY,
    floor  INTEGER NOT NULL CHECK (floor > 0)
  ) STRICT, WITHOUT ROWID;
  DROP TABLE acts;
  CREATE INDEX writes_resolved ON writes (resolved_at_ms) WHERE resolution IS NOT NULL;
  PRAGMA user_version = 3;
`

/** Of a new store. */
export const SCHEMA = `${VERSION_1} PRAGMA application_id = ${APPLICATION_ID}; ${VERSION_2} ${VERSION_3}`

/** What brings a store of an older version to this one, to be run in one transaction. */
export function migrationFrom(version: number): string {
  return [VERSION_2, VERSION_3].slice(version - 1).join('')
}
