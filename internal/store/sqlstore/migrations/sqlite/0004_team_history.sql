-- +goose Up

-- All sessions of a team together have one history: place grows with each event,
-- in the order of commits. Teams have a short number for it.
ALTER TABLE teams ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE teams ADD COLUMN last_place INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN team INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

UPDATE teams SET number = rowid;
UPDATE events SET place = rowid,
    team = (SELECT number FROM teams JOIN sessions ON sessions.team_id = teams.id WHERE sessions.id = events.session_id);
UPDATE teams SET last_place = COALESCE((SELECT MAX(place) FROM events WHERE team = teams.number), 0);

CREATE UNIQUE INDEX teams_number ON teams (number);
CREATE UNIQUE INDEX events_team ON events (team, place);
