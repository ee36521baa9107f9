-- The ledger. Times are microseconds since 1970, sizes are bytes, flags are 0/1,
-- ids are 26 characters of base32hex. Text compares bytewise (COLLATE "C").

CREATE TABLE store (
  one        BIGINT PRIMARY KEY CHECK (one = 1),
  id         TEXT COLLATE "C" NOT NULL,
  db         TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  clock_high BIGINT NOT NULL, -- highest time ever used; the clock never runs back behind it
  fence      BIGINT NOT NULL  -- stays at 0: the sequence has it
);

CREATE SEQUENCE fences;

CREATE TABLE backends (
  id         TEXT COLLATE "C" PRIMARY KEY,
  quota      BIGINT NOT NULL,
  epoch      BIGINT NOT NULL,
  intended   BIGINT NOT NULL,
  held       TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE buckets (
  id            TEXT COLLATE "C" PRIMARY KEY,
  name          TEXT COLLATE "C" UNIQUE, -- NULL: deleted, waits for its due objects to be reclaimed
  owner         TEXT COLLATE "C" NOT NULL,
  domain        TEXT COLLATE "C" NOT NULL,
  region        TEXT COLLATE "C" NOT NULL,
  created_at    BIGINT NOT NULL,
  default_ttl   BIGINT NOT NULL,
  max_ttl       BIGINT NOT NULL,
  quota_bytes   BIGINT NOT NULL,
  quota_objects BIGINT NOT NULL,
  undo          BIGINT NOT NULL
);

CREATE TABLE documents (
  bucket_id TEXT COLLATE "C" NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  kind      TEXT COLLATE "C" NOT NULL,
  body      BYTEA NOT NULL,
  PRIMARY KEY (bucket_id, kind)
);

CREATE TABLE contents (
  id         TEXT COLLATE "C" PRIMARY KEY,
  domain     TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  digest     TEXT COLLATE "C" NOT NULL,
  size       BIGINT NOT NULL,
  refs       BIGINT NOT NULL CHECK (refs > 0),
  closed     BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX contents_open ON contents (domain, digest, size, kind) WHERE closed = 0;

CREATE TABLE objects (
  bucket_id   TEXT COLLATE "C" NOT NULL REFERENCES buckets(id),
  key         TEXT COLLATE "C" NOT NULL,
  id          TEXT COLLATE "C" NOT NULL,
  content_id  TEXT COLLATE "C" REFERENCES contents(id),
  size        BIGINT NOT NULL,
  etag        TEXT COLLATE "C" NOT NULL,
  modified_at BIGINT NOT NULL,
  ttl_at      BIGINT NOT NULL,
  rule_at     BIGINT NOT NULL,
  due_at      BIGINT, -- the earlier of ttl_at and rule_at, NULL if neither
  attrs       TEXT COLLATE "C" NOT NULL,
  tags        TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (bucket_id, key)
);
-- Due indexes carry the size, so that a backlog is counted without its rows.
CREATE INDEX objects_due ON objects (due_at, size) WHERE due_at IS NOT NULL;
CREATE INDEX objects_content ON objects (content_id) WHERE content_id IS NOT NULL;

CREATE TABLE trash (
  id          TEXT COLLATE "C" PRIMARY KEY,
  bucket      TEXT COLLATE "C" NOT NULL, -- by name: the bucket may be gone
  key         TEXT COLLATE "C" NOT NULL,
  object_id   TEXT COLLATE "C" NOT NULL,
  content_id  TEXT COLLATE "C" REFERENCES contents(id),
  size        BIGINT NOT NULL,
  etag        TEXT COLLATE "C" NOT NULL,
  modified_at BIGINT NOT NULL,
  ttl_at      BIGINT NOT NULL,
  rule_at     BIGINT NOT NULL,
  attrs       TEXT COLLATE "C" NOT NULL,
  tags        TEXT COLLATE "C" NOT NULL,
  deleted_at  BIGINT NOT NULL,
  purge_at    BIGINT NOT NULL,
  reason      TEXT COLLATE "C" NOT NULL
);
CREATE INDEX trash_purge ON trash (purge_at, size);
CREATE INDEX trash_key ON trash (bucket, key);
CREATE INDEX trash_content ON trash (content_id) WHERE content_id IS NOT NULL;

CREATE TABLE uploads (
  id         TEXT COLLATE "C" PRIMARY KEY,
  bucket_id  TEXT COLLATE "C" NOT NULL REFERENCES buckets(id),
  key        TEXT COLLATE "C" NOT NULL,
  owner      TEXT COLLATE "C" NOT NULL,
  attrs      TEXT COLLATE "C" NOT NULL,
  tags       TEXT COLLATE "C" NOT NULL,
  ttl        BIGINT NOT NULL,
  ttl_at     BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  touched_at BIGINT NOT NULL
);
CREATE INDEX uploads_key ON uploads (bucket_id, key, id);
CREATE INDEX uploads_touched ON uploads (touched_at);

CREATE TABLE parts (
  upload_id  TEXT COLLATE "C" NOT NULL REFERENCES uploads(id),
  number     BIGINT NOT NULL,
  blob_id    TEXT COLLATE "C",
  size       BIGINT NOT NULL,
  etag       TEXT COLLATE "C" NOT NULL,
  digest     TEXT COLLATE "C" NOT NULL,
  checksums  TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (upload_id, number)
);

-- state: 1 pending, 2 live, 3 condemned, 4 dead
CREATE TABLE blobs (
  id          TEXT COLLATE "C" PRIMARY KEY,
  backend     TEXT COLLATE "C" NOT NULL REFERENCES backends(id),
  state       BIGINT NOT NULL CHECK (state BETWEEN 1 AND 4),
  size        BIGINT NOT NULL,
  digest      TEXT COLLATE "C" NOT NULL,
  content_id  TEXT COLLATE "C", -- kept after the content is gone, for explain
  segment     BIGINT NOT NULL,
  replica     BIGINT NOT NULL,
  upload_id   TEXT COLLATE "C",
  part        BIGINT NOT NULL,
  created_at  BIGINT NOT NULL,
  beat_at     BIGINT NOT NULL,
  died_at     BIGINT NOT NULL,
  reason      TEXT COLLATE "C" NOT NULL,
  due_at      BIGINT NOT NULL,
  late_until  BIGINT NOT NULL,
  attempts    BIGINT NOT NULL,
  last_error  TEXT COLLATE "C" NOT NULL,
  suspect     BIGINT NOT NULL,
  verified_at BIGINT NOT NULL,
  worker      TEXT COLLATE "C" NOT NULL, -- '' unclaimed
  fence       BIGINT NOT NULL,
  claimed_at  BIGINT NOT NULL
);
CREATE INDEX blobs_content ON blobs (content_id, segment, replica) WHERE content_id IS NOT NULL;
CREATE INDEX blobs_due ON blobs (backend, due_at, size) WHERE state = 3 AND fence = 0;
CREATE INDEX blobs_pending ON blobs (beat_at, size) WHERE state = 1 AND fence = 0;
CREATE INDEX blobs_upload ON blobs (upload_id) WHERE state = 1 AND upload_id IS NOT NULL;
CREATE INDEX blobs_dead ON blobs (id) WHERE state = 4;
CREATE INDEX blobs_claimed ON blobs (fence) WHERE fence <> 0;

-- A row here says: this intent may still be finished by proof (docs/protocol.md, rule 19).
-- Whoever writes or removes the key deletes it.
CREATE TABLE promotions (
  blob_id   TEXT COLLATE "C" PRIMARY KEY REFERENCES blobs(id) ON DELETE CASCADE,
  bucket_id TEXT COLLATE "C" NOT NULL,
  key       TEXT COLLATE "C" NOT NULL,
  payload   TEXT COLLATE "C" NOT NULL
);
CREATE INDEX promotions_key ON promotions (bucket_id, key);

-- Striped: a row's slot is chosen by the writer, totals are sums over slots.
CREATE TABLE blob_counters (
  backend TEXT COLLATE "C" NOT NULL,
  state   BIGINT NOT NULL,
  slot    BIGINT NOT NULL,
  n       BIGINT NOT NULL,
  bytes   BIGINT NOT NULL,
  PRIMARY KEY (backend, state, slot)
);

CREATE TABLE bucket_counters (
  bucket_id TEXT COLLATE "C" NOT NULL,
  slot      BIGINT NOT NULL,
  n         BIGINT NOT NULL,
  bytes     BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, slot)
);

CREATE TABLE ops (
  id        TEXT COLLATE "C" PRIMARY KEY,
  what      TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  at        BIGINT NOT NULL
);
CREATE INDEX ops_at ON ops (at);

CREATE TABLE access_keys (
  id         TEXT COLLATE "C" PRIMARY KEY,
  secret     TEXT COLLATE "C" NOT NULL,
  owner      TEXT COLLATE "C" NOT NULL,
  buckets    TEXT COLLATE "C" NOT NULL,
  read_only  BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE runs (
  id          TEXT COLLATE "C" PRIMARY KEY,
  routine     TEXT COLLATE "C" NOT NULL,
  worker      TEXT COLLATE "C" NOT NULL,
  started_at  BIGINT NOT NULL,
  beat_at     BIGINT NOT NULL,
  finished_at BIGINT NOT NULL,
  outcome     TEXT COLLATE "C" NOT NULL,
  counts      TEXT COLLATE "C" NOT NULL
);
CREATE INDEX runs_routine ON runs (routine, id);

-- Rows come and go by the million, most of them in the order in which they were
-- made. Vacuum has to keep up with a share of each table, not wait for a fifth
-- of it, and may work faster than the cautious default.
ALTER TABLE blobs SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_vacuum_cost_limit = 2000, autovacuum_vacuum_cost_delay = 1, fillfactor = 85);
ALTER TABLE objects SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_vacuum_cost_limit = 2000, autovacuum_vacuum_cost_delay = 1);
ALTER TABLE contents SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_vacuum_cost_limit = 2000, autovacuum_vacuum_cost_delay = 1, fillfactor = 85);
ALTER TABLE trash SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_limit = 2000, autovacuum_vacuum_cost_delay = 1);
ALTER TABLE ops SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_limit = 2000, autovacuum_vacuum_cost_delay = 1);
ALTER TABLE promotions SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_limit = 2000, autovacuum_vacuum_cost_delay = 1);
ALTER TABLE parts SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- A few rows that nearly every transaction changes: new versions find room on the
-- same page, and what is dead goes as soon as it may.
ALTER TABLE blob_counters SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0);
ALTER TABLE bucket_counters SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0);
ALTER TABLE store SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100,
  autovacuum_vacuum_cost_delay = 0);
