-- +goose Up

-- What environments keep secret, sealed; and of a machine, the end of its run's
-- text that may be the beginning of such a value.
ALTER TABLE environments ADD COLUMN sealed BLOB;
CREATE INDEX environments_sealed ON environments (id) WHERE sealed IS NOT NULL;
ALTER TABLE machines ADD COLUMN held BLOB;
