-- By how many microseconds the clock was ahead of the time since the machine was started
-- of this id, when clock_high was saved; another process on the same start of the machine
-- can tell by it that the clock was set forward meanwhile (docs/protocol.md, rule 13).
ALTER TABLE store ADD COLUMN boot TEXT NOT NULL DEFAULT '';
ALTER TABLE store ADD COLUMN boot_offset BIGINT NOT NULL DEFAULT 0;
