-- What instances that share a ledger keep for each other: what they must have in
-- common, that they are there, and who runs what must not run twice at once.
CREATE TABLE secrets (
  name  TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE instances (
  id         TEXT COLLATE "C"   PRIMARY KEY, -- the worker's name in claims and runs
  started_at BIGINT NOT NULL,
  beat_at    BIGINT NOT NULL,
  info       TEXT COLLATE "C"   NOT NULL
);

ALTER TABLE runs ADD COLUMN solo BIGINT NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX runs_solo ON runs (routine) WHERE solo = 1 AND finished_at = 0;
CREATE INDEX runs_open ON runs (beat_at) WHERE finished_at = 0;
