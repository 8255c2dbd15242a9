-- +goose Up

-- A team's list has what people were asked: that alone has a deadline. What rules
-- and grants decided at once is many times as much, and is not looked through.
CREATE INDEX approvals_asked ON approvals (team_id, ordinal) WHERE deadline_us IS NOT NULL;
DROP INDEX approvals_team;
