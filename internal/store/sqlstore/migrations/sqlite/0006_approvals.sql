-- +goose Up

-- What waits for a person is listed for a whole team, and ends at its deadline;
-- what waited before there were deadlines has a day. input is the tool's input
-- as the person edited it (JSON), grant_id what decided in a person's place.
ALTER TABLE approvals ADD COLUMN team_id TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN input BLOB;
ALTER TABLE approvals ADD COLUMN grant_id TEXT;
UPDATE approvals SET team_id = (SELECT team_id FROM sessions WHERE id = approvals.session_id);
UPDATE approvals SET deadline_us = asked_at_us + 86400000000 WHERE deadline_us IS NULL AND state IN ('pending', 'deferred');

CREATE INDEX approvals_team ON approvals (team_id, ordinal);
CREATE INDEX approvals_open ON approvals (team_id, ordinal) WHERE state IN ('pending', 'deferred');
CREATE INDEX approvals_due ON approvals (deadline_us) WHERE state IN ('pending', 'deferred');

-- What a person approved for the rest of a session. match is a JSON document.
CREATE TABLE grants (
    ordinal       INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    approval_id   TEXT NOT NULL REFERENCES approvals (id),
    match         BLOB NOT NULL,
    actor         TEXT NOT NULL,
    reason        TEXT NOT NULL,
    granted_at_us INTEGER NOT NULL,
    revoked_at_us INTEGER,
    revoked_by    TEXT NOT NULL
) STRICT;

CREATE INDEX grants_session ON grants (session_id, ordinal);
CREATE INDEX grants_approval ON grants (approval_id);
