-- Walks that compare a backend's listing with the ledger, and what they found. A
-- walk that was cut off is taken up where it stopped; a finding is forgotten once
-- a whole walk has not come upon it.
CREATE TABLE walks (
  id          TEXT COLLATE "C" PRIMARY KEY,
  backend     TEXT COLLATE "C" NOT NULL,
  started_at  BIGINT NOT NULL,
  saved_at    BIGINT NOT NULL,
  finished_at BIGINT NOT NULL, -- 0: not finished
  place       TEXT COLLATE "C" NOT NULL, -- the blob up to which all was compared; '~' all was
  outcome     TEXT COLLATE "C" NOT NULL,
  counts      TEXT COLLATE "C" NOT NULL
);
CREATE INDEX walks_backend ON walks (backend, id);
CREATE UNIQUE INDEX walks_open ON walks (backend) WHERE finished_at = 0;

CREATE TABLE findings (
  backend    TEXT COLLATE "C" NOT NULL,
  key        TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL, -- orphan, foreign, elsewhere, missing, size
  size       BIGINT NOT NULL, -- bytes that lie there
  detail     TEXT COLLATE "C" NOT NULL,
  content_id TEXT COLLATE "C" NOT NULL, -- of a missing blob; '' none
  segment    BIGINT NOT NULL,
  first_at   BIGINT NOT NULL,
  last_at    BIGINT NOT NULL,
  first_walk TEXT COLLATE "C" NOT NULL,
  last_walk  TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (backend, key)
);
