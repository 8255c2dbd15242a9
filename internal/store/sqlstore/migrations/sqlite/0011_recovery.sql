-- +goose Up

-- When the files were as they were found at the last recovery that lost the memory.
ALTER TABLE sessions ADD COLUMN restored_to_us INTEGER;
