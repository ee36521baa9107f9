-- From when on copies on a backend are trusted: what was written or read there before
-- the two were last in doubt has to be read again first.
ALTER TABLE backends ADD COLUMN trusted_since BIGINT NOT NULL DEFAULT 0;
