-- Walks that compare a backend's listing with the ledger, and what they found. A
-- walk that was cut off is taken up where it stopped; a finding is forgotten once
-- a whole walk has not come upon it.
CREATE TABLE walks (
  id          TEXT   PRIMARY KEY,
  backend     TEXT   NOT NULL,
  started_at  BIGINT NOT NULL,
  saved_at    BIGINT NOT NULL,
  finished_at BIGINT NOT NULL, -- 0: not finished
  place       TEXT   NOT NULL, -- the blob up to which all was compared; '~' all was
  outcome     TEXT   NOT NULL,
  counts      TEXT   NOT NULL
) WITHOUT ROWID;
CREATE INDEX walks_backend ON walks (backend, id);
CREATE UNIQUE INDEX walks_open ON walks (backend) WHERE finished_at = 0;

CREATE TABLE findings (
  backend    TEXT   NOT NULL,
  key        TEXT   NOT NULL,
  kind       TEXT   NOT NULL, -- orphan, foreign, elsewhere, missing, size
  size       BIGINT NOT NULL, -- bytes that lie there
  detail     TEXT   NOT NULL,
  content_id TEXT   NOT NULL, -- of a missing blob; '' none
  segment    BIGINT NOT NULL,
  first_at   BIGINT NOT NULL,
  last_at    BIGINT NOT NULL,
  first_walk TEXT   NOT NULL,
  last_walk  TEXT   NOT NULL,
  PRIMARY KEY (backend, key)
) WITHOUT ROWID;
