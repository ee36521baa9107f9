-- Holds: what a person, or an S3 client by a legal hold, keeps from being deleted.
-- A bucket that has none costs nothing: its row, which everybody reads, says so.
ALTER TABLE buckets ADD COLUMN holds BIGINT NOT NULL DEFAULT 0; -- rows of holds

CREATE TABLE holds (
  bucket_id  TEXT NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  scope      BIGINT NOT NULL, -- 1 an object, 2 a prefix, 3 an object by legal hold
  key        TEXT NOT NULL, -- of a whole bucket: the empty prefix
  reason     TEXT NOT NULL,
  set_by     TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, scope, key)
) WITHOUT ROWID;

-- What was due and is held left its due index and lies here, until it is let go.
CREATE TABLE parked (
  bucket_id TEXT NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  key       TEXT NOT NULL,
  entry     TEXT NOT NULL, -- of the trash; '' the object
  due_at    BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, key, entry)
) WITHOUT ROWID;

-- Where something was let go, and how far what was parked there was looked through.
CREATE TABLE lifts (
  bucket_id   TEXT NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  prefix      TEXT NOT NULL,
  after_key   TEXT NOT NULL,
  after_entry TEXT NOT NULL,
  PRIMARY KEY (bucket_id, prefix)
) WITHOUT ROWID;

-- Limits on deletions: what was taken within the hour, and what stopped for it.
CREATE TABLE guards (
  kind       TEXT NOT NULL,
  subject    TEXT NOT NULL, -- the id of a bucket or of a backend; '' the store
  hour       BIGINT NOT NULL, -- since 1970, that n is of
  n          BIGINT NOT NULL, -- deletions in that hour
  held_at    BIGINT NOT NULL, -- 0: not held
  held_until BIGINT NOT NULL, -- ends by itself then
  reason     TEXT NOT NULL,
  free_until BIGINT NOT NULL, -- a person has allowed what is beyond the limits
  free_n     BIGINT NOT NULL, -- so many; -1 any number
  PRIMARY KEY (kind, subject)
) WITHOUT ROWID;
