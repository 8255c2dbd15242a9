-- +goose Up

-- Conventions: *_us is a moment in microseconds since 1970 UTC (NULL: never),
-- *_ms a duration in milliseconds, ids and states are the texts of the pure
-- packages, ordinal is the order of creation whatever the clock said, BLOBs are
-- JSON or bytes that are given back as they came.

CREATE TABLE teams (
    id            TEXT PRIMARY KEY NOT NULL,
    name          TEXT NOT NULL UNIQUE,
    created_at_us INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    id            TEXT PRIMARY KEY NOT NULL,
    team_id       TEXT NOT NULL REFERENCES teams (id),
    name          TEXT NOT NULL,
    hash          TEXT NOT NULL UNIQUE,
    created_at_us INTEGER NOT NULL
) STRICT;

CREATE TABLE environments (
    id            TEXT PRIMARY KEY NOT NULL,
    team_id       TEXT NOT NULL REFERENCES teams (id),
    name          TEXT NOT NULL,
    source        TEXT NOT NULL,
    spec          BLOB NOT NULL,
    created_at_us INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
    ordinal          INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT NOT NULL UNIQUE,
    team_id          TEXT NOT NULL REFERENCES teams (id),
    name             TEXT NOT NULL,
    name_key         TEXT NOT NULL,
    environment_id   TEXT REFERENCES environments (id),
    adapter          TEXT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN
        ('provisioning', 'ready', 'paused', 'updating', 'destroying', 'destroyed', 'failed')),
    generation       INTEGER NOT NULL,
    pause_reason     TEXT NOT NULL CHECK (pause_reason IN ('', 'manual', 'idle', 'zero_balance')),
    pause_pending    TEXT NOT NULL CHECK (pause_pending IN ('', 'manual', 'idle', 'zero_balance')),
    reason           TEXT NOT NULL,
    terminal         TEXT NOT NULL,
    idle_timeout_ms  INTEGER NOT NULL,
    keep_warm        INTEGER NOT NULL CHECK (keep_warm IN (0, 1)),
    resume_on_topoff INTEGER NOT NULL CHECK (resume_on_topoff IN (0, 1)),
    openai_session   TEXT NOT NULL,
    created_at_us    INTEGER NOT NULL,
    last_event_at_us INTEGER,
    active_at_us     INTEGER,
    deadline_us      INTEGER,
    ended_at_us      INTEGER,
    last_seq         INTEGER NOT NULL,
    sandbox_id       TEXT,
    memory           TEXT NOT NULL
) STRICT;

-- One holder of a name per team: the states for which State.HoldsName.
CREATE UNIQUE INDEX sessions_live_name ON sessions (team_id, name_key)
    WHERE state IN ('provisioning', 'ready', 'paused', 'updating');
CREATE INDEX sessions_name ON sessions (team_id, name_key);
CREATE INDEX sessions_state ON sessions (team_id, state);
CREATE INDEX sessions_team ON sessions (team_id, id);

CREATE TABLE runs (
    ordinal          INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT NOT NULL UNIQUE,
    session_id       TEXT NOT NULL REFERENCES sessions (id),
    text             TEXT NOT NULL,
    source_raw       BLOB,
    state            TEXT NOT NULL CHECK (state IN
        ('queued', 'running', 'awaiting_hitl', 'completed', 'failed', 'cancelled')),
    created_at_us    INTEGER NOT NULL,
    started_at_us    INTEGER,
    ended_at_us      INTEGER,
    deadline_us      INTEGER,
    tokens_in        INTEGER NOT NULL,
    tokens_out       INTEGER NOT NULL,
    cost_micros      INTEGER NOT NULL,
    stop_reason      TEXT NOT NULL,
    failure_code     INTEGER, -- the number of the wire; NULL: did not fail
    failure_message  TEXT NOT NULL,
    failure_terminal INTEGER NOT NULL CHECK (failure_terminal IN (0, 1))
) STRICT;

CREATE INDEX runs_session ON runs (session_id, ordinal);

CREATE TABLE approvals (
    ordinal     INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    session_id  TEXT NOT NULL REFERENCES sessions (id),
    run_id      TEXT NOT NULL REFERENCES runs (id),
    guest_key   TEXT NOT NULL,
    asked       BLOB NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected', 'deferred', 'expired')),
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    asked_at_us INTEGER NOT NULL,
    ended_at_us INTEGER,
    deadline_us INTEGER
) STRICT;

CREATE INDEX approvals_session ON approvals (session_id, ordinal);

CREATE TABLE machines (
    session_id    TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id),
    sandbox_id    TEXT NOT NULL,
    handle        BLOB,
    epoch         INTEGER NOT NULL,
    ack           INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL
) STRICT;

-- run_id is no reference: an event may be appended before its run is saved.
CREATE TABLE events (
    session_id  TEXT NOT NULL REFERENCES sessions (id),
    seq         INTEGER NOT NULL CHECK (seq > 0),
    id          TEXT NOT NULL,
    run_id      TEXT,
    at_us       INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    data        BLOB NOT NULL,
    source_type TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT;

CREATE INDEX events_run ON events (run_id, seq) WHERE run_id IS NOT NULL;

-- The agents' native bytes, apart so that ordinary reads stay small.
CREATE TABLE event_raw (
    session_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    raw        BLOB NOT NULL,
    PRIMARY KEY (session_id, seq),
    FOREIGN KEY (session_id, seq) REFERENCES events (session_id, seq)
) STRICT;
