-- Holds: what a person, or an S3 client by a legal hold, keeps from being deleted.
-- A bucket that has none costs nothing: its row, which everybody reads, says so.
ALTER TABLE buckets ADD COLUMN holds BIGINT NOT NULL DEFAULT 0; -- rows of holds

CREATE TABLE holds (
  bucket_id  TEXT COLLATE "C" NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  scope      BIGINT NOT NULL, -- 1 an object, 2 a prefix, 3 an object by legal hold
  key        TEXT COLLATE "C" NOT NULL, -- of a whole bucket: the empty prefix
  reason     TEXT COLLATE "C" NOT NULL,
  set_by     TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, scope, key)
);

-- What was due and is held left its due index and lies here, until it is let go.
CREATE TABLE parked (
  bucket_id TEXT COLLATE "C" NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  key       TEXT COLLATE "C" NOT NULL,
  entry     TEXT COLLATE "C" NOT NULL, -- of the trash; '' the object
  due_at    BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, key, entry)
);

-- Where something was let go, and how far what was parked there was looked through.
CREATE TABLE lifts (
  bucket_id   TEXT COLLATE "C" NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  prefix      TEXT COLLATE "C" NOT NULL,
  after_key   TEXT COLLATE "C" NOT NULL,
  after_entry TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (bucket_id, prefix)
);

-- Limits on deletions: what was taken within the hour, and what stopped for it.
CREATE TABLE guards (
  kind       TEXT COLLATE "C" NOT NULL,
  subject    TEXT COLLATE "C" NOT NULL, -- the id of a bucket or of a backend; '' the store
  hour       BIGINT NOT NULL, -- since 1970, that n is of
  n          BIGINT NOT NULL, -- deletions in that hour
  held_at    BIGINT NOT NULL, -- 0: not held
  held_until BIGINT NOT NULL, -- ends by itself then
  reason     TEXT COLLATE "C" NOT NULL,
  free_until BIGINT NOT NULL, -- a person has allowed what is beyond the limits
  free_n     BIGINT NOT NULL, -- so many; -1 any number
  PRIMARY KEY (kind, subject)
);
