-- The ledger. Times are microseconds since 1970, sizes are bytes, flags are 0/1,
-- ids are 26 characters of base32hex. Text compares bytewise.

CREATE TABLE store (
  one        BIGINT PRIMARY KEY CHECK (one = 1),
  id         TEXT   NOT NULL,
  db         TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  clock_high BIGINT NOT NULL, -- highest time ever used; the clock never runs back behind it
  fence      BIGINT NOT NULL
);

CREATE TABLE backends (
  id         TEXT   PRIMARY KEY,
  quota      BIGINT NOT NULL,
  epoch      BIGINT NOT NULL,
  intended   BIGINT NOT NULL,
  held       TEXT   NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE buckets (
  id            TEXT   PRIMARY KEY,
  name          TEXT   UNIQUE, -- NULL: deleted, waits for its due objects to be reclaimed
  owner         TEXT   NOT NULL,
  domain        TEXT   NOT NULL,
  region        TEXT   NOT NULL,
  created_at    BIGINT NOT NULL,
  default_ttl   BIGINT NOT NULL,
  max_ttl       BIGINT NOT NULL,
  quota_bytes   BIGINT NOT NULL,
  quota_objects BIGINT NOT NULL,
  undo          BIGINT NOT NULL
);

CREATE TABLE documents (
  bucket_id TEXT NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  kind      TEXT NOT NULL,
  body      BLOB NOT NULL,
  PRIMARY KEY (bucket_id, kind)
) WITHOUT ROWID;

CREATE TABLE contents (
  id         TEXT   PRIMARY KEY,
  domain     TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  digest     TEXT   NOT NULL,
  size       BIGINT NOT NULL,
  refs       BIGINT NOT NULL CHECK (refs > 0),
  closed     BIGINT NOT NULL,
  created_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX contents_open ON contents (domain, digest, size, kind) WHERE closed = 0;

CREATE TABLE objects (
  bucket_id   TEXT   NOT NULL REFERENCES buckets(id),
  key         TEXT   NOT NULL,
  id          TEXT   NOT NULL,
  content_id  TEXT   REFERENCES contents(id),
  size        BIGINT NOT NULL,
  etag        TEXT   NOT NULL,
  modified_at BIGINT NOT NULL,
  ttl_at      BIGINT NOT NULL,
  rule_at     BIGINT NOT NULL,
  due_at      BIGINT, -- the earlier of ttl_at and rule_at, NULL if neither
  attrs       TEXT   NOT NULL,
  tags        TEXT   NOT NULL,
  PRIMARY KEY (bucket_id, key)
) WITHOUT ROWID;
-- Due indexes carry the size, so that a backlog is counted without its rows.
CREATE INDEX objects_due ON objects (due_at, size) WHERE due_at IS NOT NULL;
CREATE INDEX objects_content ON objects (content_id) WHERE content_id IS NOT NULL;

CREATE TABLE trash (
  id          TEXT   PRIMARY KEY,
  bucket      TEXT   NOT NULL, -- by name: the bucket may be gone
  key         TEXT   NOT NULL,
  object_id   TEXT   NOT NULL,
  content_id  TEXT   REFERENCES contents(id),
  size        BIGINT NOT NULL,
  etag        TEXT   NOT NULL,
  modified_at BIGINT NOT NULL,
  ttl_at      BIGINT NOT NULL,
  rule_at     BIGINT NOT NULL,
  attrs       TEXT   NOT NULL,
  tags        TEXT   NOT NULL,
  deleted_at  BIGINT NOT NULL,
  purge_at    BIGINT NOT NULL,
  reason      TEXT   NOT NULL
) WITHOUT ROWID;
CREATE INDEX trash_purge ON trash (purge_at, size);
CREATE INDEX trash_key ON trash (bucket, key);
CREATE INDEX trash_content ON trash (content_id) WHERE content_id IS NOT NULL;

CREATE TABLE uploads (
  id         TEXT   PRIMARY KEY,
  bucket_id  TEXT   NOT NULL REFERENCES buckets(id),
  key        TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  attrs      TEXT   NOT NULL,
  tags       TEXT   NOT NULL,
  ttl        BIGINT NOT NULL,
  ttl_at     BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  touched_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX uploads_key ON uploads (bucket_id, key, id);
CREATE INDEX uploads_touched ON uploads (touched_at);

CREATE TABLE parts (
  upload_id  TEXT   NOT NULL REFERENCES uploads(id),
  number     BIGINT NOT NULL,
  blob_id    TEXT,
  size       BIGINT NOT NULL,
  etag       TEXT   NOT NULL,
  digest     TEXT   NOT NULL,
  checksums  TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (upload_id, number)
) WITHOUT ROWID;

-- state: 1 pending, 2 live, 3 condemned, 4 dead
CREATE TABLE blobs (
  id          TEXT   PRIMARY KEY,
  backend     TEXT   NOT NULL REFERENCES backends(id),
  state       BIGINT NOT NULL CHECK (state BETWEEN 1 AND 4),
  size        BIGINT NOT NULL,
  digest      TEXT   NOT NULL,
  content_id  TEXT, -- kept after the content is gone, for explain
  segment     BIGINT NOT NULL,
  replica     BIGINT NOT NULL,
  upload_id   TEXT,
  part        BIGINT NOT NULL,
  created_at  BIGINT NOT NULL,
  beat_at     BIGINT NOT NULL,
  died_at     BIGINT NOT NULL,
  reason      TEXT   NOT NULL,
  due_at      BIGINT NOT NULL,
  late_until  BIGINT NOT NULL,
  attempts    BIGINT NOT NULL,
  last_error  TEXT   NOT NULL,
  suspect     BIGINT NOT NULL,
  verified_at BIGINT NOT NULL,
  worker      TEXT   NOT NULL, -- '' unclaimed
  fence       BIGINT NOT NULL,
  claimed_at  BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX blobs_content ON blobs (content_id, segment, replica) WHERE content_id IS NOT NULL;
CREATE INDEX blobs_due ON blobs (backend, due_at, size) WHERE state = 3 AND fence = 0;
CREATE INDEX blobs_pending ON blobs (beat_at, size) WHERE state = 1 AND fence = 0;
CREATE INDEX blobs_upload ON blobs (upload_id) WHERE state = 1 AND upload_id IS NOT NULL;
CREATE INDEX blobs_dead ON blobs (id) WHERE state = 4;
CREATE INDEX blobs_claimed ON blobs (fence) WHERE fence <> 0;

-- A row here says: this intent may still be finished by proof (docs/protocol.md, rule 19).
-- Whoever writes or removes the key deletes it.
CREATE TABLE promotions (
  blob_id   TEXT PRIMARY KEY REFERENCES blobs(id) ON DELETE CASCADE,
  bucket_id TEXT NOT NULL,
  key       TEXT NOT NULL,
  payload   TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX promotions_key ON promotions (bucket_id, key);

-- Striped: a row's slot is chosen by the writer, totals are sums over slots.
CREATE TABLE blob_counters (
  backend TEXT   NOT NULL,
  state   BIGINT NOT NULL,
  slot    BIGINT NOT NULL,
  n       BIGINT NOT NULL,
  bytes   BIGINT NOT NULL,
  PRIMARY KEY (backend, state, slot)
) WITHOUT ROWID;

CREATE TABLE bucket_counters (
  bucket_id TEXT   NOT NULL,
  slot      BIGINT NOT NULL,
  n         BIGINT NOT NULL,
  bytes     BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, slot)
) WITHOUT ROWID;

CREATE TABLE ops (
  id        TEXT   PRIMARY KEY,
  what      TEXT   NOT NULL,
  object_id TEXT   NOT NULL,
  at        BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX ops_at ON ops (at);

CREATE TABLE access_keys (
  id         TEXT   PRIMARY KEY,
  secret     TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  buckets    TEXT   NOT NULL,
  read_only  BIGINT NOT NULL,
  created_at BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE runs (
  id          TEXT   PRIMARY KEY,
  routine     TEXT   NOT NULL,
  worker      TEXT   NOT NULL,
  started_at  BIGINT NOT NULL,
  beat_at     BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  outcome     TEXT   NOT NULL,
  counts      TEXT   NOT NULL
) WITHOUT ROWID;
CREATE INDEX runs_routine ON runs (routine, id);
