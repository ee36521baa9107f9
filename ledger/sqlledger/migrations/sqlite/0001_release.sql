-- The ledger. Times are microseconds since 1970, sizes are bytes, flags are 0/1,
-- ids are 26 characters of base32hex. Text compares bytewise. The page schema.md shows
-- how the tables point to each other.

-- 1. Bytes: what is stored, and where.

-- One row per backend.
CREATE TABLE backends (
  id            TEXT   PRIMARY KEY,
  quota         BIGINT NOT NULL, -- 0: none
  epoch         BIGINT NOT NULL, -- last one confirmed on the backend (docs/protocol.md, rule 13)
  intended      BIGINT NOT NULL, -- the one about to be written there
  held          TEXT   NOT NULL, -- why deletes on it are stopped; '' they are not
  created_at    BIGINT NOT NULL,
  draining      BIGINT NOT NULL DEFAULT 0,
  held_kind     TEXT   NOT NULL DEFAULT '', -- what held is about: person, ledger, backend, absence
  held_since    BIGINT NOT NULL DEFAULT 0, -- since when; 0: they are not stopped
  trusted_since BIGINT NOT NULL DEFAULT 0, -- copies verified before count as unverified
  accepted      BIGINT NOT NULL DEFAULT 0 -- epoch under which a person last gave it to this ledger
);

-- One row per content: the bytes that any number of objects share.
CREATE TABLE contents (
  id         TEXT   PRIMARY KEY,
  domain     TEXT   NOT NULL,
  kind       TEXT   NOT NULL,
  digest     TEXT   NOT NULL,
  size       BIGINT NOT NULL,
  refs       BIGINT NOT NULL CHECK (refs > 0), -- rows of objects and trash
  closed     BIGINT NOT NULL, -- 1: takes no more references
  created_at BIGINT NOT NULL,
  body_no    BIGINT NOT NULL DEFAULT 0 -- of its row in bodies, if its bytes lie in the ledger; 0: none
) WITHOUT ROWID;

-- One row per identity of a content, by the beginning of its digest: the content last made
-- with it. The row outlives the content, as removing it at once would write a page for each
-- content: the purge routine removes such rows in order. Who looks a content up compares its
-- whole identity.
CREATE TABLE digests (
  prefix     TEXT NOT NULL, -- the first 16 characters of the digest
  domain     TEXT NOT NULL,
  content_id TEXT NOT NULL,
  PRIMARY KEY (prefix, domain)
) WITHOUT ROWID;

-- One row per inline content: its bytes. A table by number, as keys beside long rows of an
-- index make SQLite read the rows at each comparison. A number is never used again: a content
-- whose row was lost must not get the bytes of another.
CREATE TABLE bodies (
  no     INTEGER PRIMARY KEY AUTOINCREMENT,
  crc32c BIGINT  NOT NULL, -- Castagnoli, of the content's digest and all bytes
  head   BLOB    NOT NULL, -- the bytes
  tail   BLOB    NOT NULL  -- empty: PostgreSQL has to divide bodies
);

-- One row per stored file on a backend: a copy of a segment of a content, or a part of an
-- upload. State: 1 pending, 2 live, 3 condemned, 4 dead.
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
  beat_at     BIGINT NOT NULL, -- pending: last sign of life of the writer
  died_at     BIGINT NOT NULL, -- when the last reference went
  reason      TEXT   NOT NULL,
  due_at      BIGINT NOT NULL, -- condemned: deleted from then on
  late_until  BIGINT NOT NULL, -- an upload of unknown outcome may land until then
  attempts    BIGINT NOT NULL,
  last_error  TEXT   NOT NULL,
  suspect     BIGINT NOT NULL, -- 1: found missing or damaged
  verified_at BIGINT NOT NULL,
  worker      TEXT   NOT NULL, -- '' unclaimed
  fence       BIGINT NOT NULL, -- 0 unclaimed
  claimed_at  BIGINT NOT NULL,
  crc32c      BIGINT NOT NULL DEFAULT 0,  -- Castagnoli, of all bytes; 0: not known
  bucket_id   TEXT   NOT NULL DEFAULT '', -- condemned: where its last reference was; '' not known
  block       BIGINT NOT NULL DEFAULT 0   -- bytes of each block whose sum is in blocks; 0: none is
) WITHOUT ROWID;
CREATE INDEX blobs_content ON blobs (content_id, segment, replica) WHERE content_id IS NOT NULL;
-- Due indexes carry the size, so that a backlog is counted without its rows.
CREATE INDEX blobs_due ON blobs (backend, due_at, size) WHERE state = 3 AND fence = 0;
CREATE INDEX blobs_pending ON blobs (beat_at, size) WHERE state = 1 AND fence = 0;
CREATE INDEX blobs_upload ON blobs (upload_id) WHERE state = 1 AND upload_id IS NOT NULL;
CREATE INDEX blobs_dead ON blobs (id) WHERE state = 4;
CREATE INDEX blobs_claimed ON blobs (fence) WHERE fence <> 0;
-- Copies on their way to a content that has bytes already. Mostly there are none, and
-- whoever drops a content learns so at once.
CREATE INDEX blobs_joining ON blobs (content_id) WHERE state = 1 AND content_id IS NOT NULL;
-- What is due of one bucket is found without that of the others, so that a batch takes
-- some of each. The last condition always holds: it keeps the planner from taking this
-- index in place of another.
CREATE INDEX blobs_turns ON blobs (bucket_id, backend, due_at, size) WHERE state = 3 AND fence = 0 AND length(bucket_id) >= 0;
-- Mostly there are neither failing deletes nor suspect copies, and whoever looks for some
-- learns so at once.
CREATE INDEX blobs_failing ON blobs (backend, attempts, due_at) WHERE state = 3 AND attempts > 0;
CREATE INDEX blobs_suspect ON blobs (backend) WHERE state = 2 AND suspect = 1;

-- One row per 128 blocks of a blob that has several: their CRC-32C (Castagnoli), so that
-- a read by range is verified without the rest.
CREATE TABLE blocks (
  blob_id  TEXT   NOT NULL,
  first_no BIGINT NOT NULL, -- of the row's first block, from 0 on
  sums     BLOB   NOT NULL, -- four bytes each, the highest first
  PRIMARY KEY (blob_id, first_no)
) WITHOUT ROWID;

-- 2. Names: what clients see.

-- One row per bucket.
CREATE TABLE buckets (
  id            TEXT   PRIMARY KEY,
  name          TEXT   UNIQUE, -- NULL: deleted, waits for its due objects to be reclaimed
  owner         TEXT   NOT NULL,
  domain        TEXT   NOT NULL, -- within which equal bytes are stored once
  region        TEXT   NOT NULL,
  created_at    BIGINT NOT NULL,
  default_ttl   BIGINT NOT NULL,
  max_ttl       BIGINT NOT NULL,
  quota_bytes   BIGINT NOT NULL,
  quota_objects BIGINT NOT NULL,
  undo          BIGINT NOT NULL,
  rules         TEXT   NOT NULL DEFAULT '', -- lifecycle rules, JSON; '' none
  rules_by      TEXT   NOT NULL DEFAULT '', -- who set them
  rules_last    BIGINT NOT NULL DEFAULT 0,  -- highest number given; no other rule ever has it
  holds         BIGINT NOT NULL DEFAULT 0,  -- rows of holds
  was           TEXT   NOT NULL DEFAULT '', -- the name that a deleted bucket had
  default_idle  BIGINT NOT NULL DEFAULT 0,  -- as default_ttl and max_ttl, of the idle time
  max_idle      BIGINT NOT NULL DEFAULT 0,
  notify        TEXT   NOT NULL DEFAULT '', -- notification rules, JSON; '' none
  evict         TEXT   NOT NULL DEFAULT '', -- what goes first when the quota is used up; '' nothing
  evict_high    BIGINT NOT NULL DEFAULT 0,  -- percent of the quota above which the engine evicts
  evict_low     BIGINT NOT NULL DEFAULT 0,  -- and down to which
  evict_age     BIGINT NOT NULL DEFAULT 0   -- what was used since is not evicted
);
CREATE INDEX buckets_evict ON buckets (id) WHERE evict <> '' AND name IS NOT NULL;

-- One row per document of a bucket: its policy, its tags and so on.
CREATE TABLE documents (
  bucket_id TEXT NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  kind      TEXT NOT NULL,
  body      BLOB NOT NULL,
  PRIMARY KEY (bucket_id, kind)
) WITHOUT ROWID;

-- One row per hold: what a person, or an S3 client by a legal hold, keeps from being
-- deleted.
CREATE TABLE holds (
  bucket_id  TEXT   NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  scope      BIGINT NOT NULL, -- 1 an object, 2 a prefix, 3 an object by legal hold
  key        TEXT   NOT NULL, -- of a whole bucket: the empty prefix
  reason     TEXT   NOT NULL,
  set_by     TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, scope, key)
) WITHOUT ROWID;

-- One row per object: a key of a bucket.
CREATE TABLE objects (
  bucket_id   TEXT   NOT NULL REFERENCES buckets(id),
  key         TEXT   NOT NULL,
  id          TEXT   NOT NULL, -- of this version: the operation that wrote it
  -- NULL: zero bytes. References to contents are checked at COMMIT: to be able to undo a
  -- statement that drops contents, SQLite would copy each page that it changes.
  content_id  TEXT   REFERENCES contents(id) DEFERRABLE INITIALLY DEFERRED,
  size        BIGINT NOT NULL,
  etag        TEXT   NOT NULL,
  modified_at BIGINT NOT NULL,
  ttl_at      BIGINT NOT NULL, -- 0: the client set no end
  rule_at     BIGINT NOT NULL, -- 0: no lifecycle rule ends it
  due_at      BIGINT, -- the earliest of ttl_at, rule_at, and idle_at with 10 s, NULL if none
  attrs       TEXT   NOT NULL, -- JSON
  tags        TEXT   NOT NULL, -- JSON
  rule_no     BIGINT NOT NULL DEFAULT 0, -- of the rule that rule_at comes from; 0 none
  reads_left  BIGINT NOT NULL DEFAULT 0, -- how often it can be read; 0 not counted, -1 read for the last time at ttl_at
  idle_for    BIGINT NOT NULL DEFAULT 0, -- how long it is kept after it was last read or written; 0 that does not end it
  idle_at     BIGINT NOT NULL DEFAULT 0, -- the end by that, as noted; 0 none
  used_at     BIGINT, -- when a read or write was last noted; NULL: they are not
  PRIMARY KEY (bucket_id, key)
) WITHOUT ROWID;
CREATE INDEX objects_due ON objects (due_at, size) WHERE due_at IS NOT NULL;
CREATE INDEX objects_used ON objects (bucket_id, used_at) WHERE used_at IS NOT NULL;
CREATE INDEX objects_content ON objects (content_id) WHERE content_id IS NOT NULL;
-- As blobs_turns.
CREATE INDEX objects_turns ON objects (bucket_id, due_at, size) WHERE due_at IS NOT NULL AND length(bucket_id) >= 0;

-- One row per deleted or replaced object that can still be restored.
CREATE TABLE trash (
  id          TEXT   PRIMARY KEY,
  bucket      TEXT   NOT NULL, -- by name: the bucket may be gone
  key         TEXT   NOT NULL,
  object_id   TEXT   NOT NULL,
  content_id  TEXT   REFERENCES contents(id) DEFERRABLE INITIALLY DEFERRED,
  size        BIGINT NOT NULL,
  etag        TEXT   NOT NULL,
  modified_at BIGINT NOT NULL,
  ttl_at      BIGINT NOT NULL,
  rule_at     BIGINT NOT NULL,
  attrs       TEXT   NOT NULL,
  tags        TEXT   NOT NULL,
  deleted_at  BIGINT NOT NULL,
  purge_at    BIGINT NOT NULL,
  reason      TEXT   NOT NULL,
  gone_op     TEXT   NOT NULL DEFAULT '', -- the operation that deleted or replaced it
  gone_by     TEXT   NOT NULL DEFAULT '', -- on whose behalf, JSON; '' nobody
  ended_by    TEXT   NOT NULL DEFAULT '', -- who asked for it to be purged before its time
  idle_for    BIGINT NOT NULL DEFAULT 0   -- as in objects
) WITHOUT ROWID;
CREATE INDEX trash_purge ON trash (purge_at, size);
CREATE INDEX trash_key ON trash (bucket, key);
CREATE INDEX trash_content ON trash (content_id) WHERE content_id IS NOT NULL;

-- One row per open multipart upload.
CREATE TABLE uploads (
  id         TEXT   PRIMARY KEY,
  bucket_id  TEXT   NOT NULL REFERENCES buckets(id),
  key        TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  attrs      TEXT   NOT NULL,
  tags       TEXT   NOT NULL,
  ttl        BIGINT NOT NULL, -- counted from completion; 0 none
  ttl_at     BIGINT NOT NULL, -- absolute; 0 none
  created_at BIGINT NOT NULL,
  touched_at BIGINT NOT NULL, -- when a part was last stored
  reads      BIGINT NOT NULL DEFAULT 0, -- how often the object can be read; 0 not counted
  idle       BIGINT NOT NULL DEFAULT 0  -- idle time of the object; 0 the bucket's
) WITHOUT ROWID;
CREATE INDEX uploads_key ON uploads (bucket_id, key, id);
CREATE INDEX uploads_touched ON uploads (touched_at);

-- One row per stored part of an open upload.
CREATE TABLE parts (
  upload_id  TEXT   NOT NULL REFERENCES uploads(id),
  number     BIGINT NOT NULL,
  blob_id    TEXT, -- NULL: zero bytes
  size       BIGINT NOT NULL,
  etag       TEXT   NOT NULL,
  digest     TEXT   NOT NULL,
  checksums  TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (upload_id, number)
) WITHOUT ROWID;

-- 3. Work: what routines have yet to do, and how far they are.

-- One row per intent that may still be finished by proof (docs/protocol.md, rule 19).
-- Whoever writes or removes the key deletes it.
CREATE TABLE promotions (
  blob_id   TEXT PRIMARY KEY REFERENCES blobs(id) ON DELETE CASCADE,
  bucket_id TEXT NOT NULL,
  key       TEXT NOT NULL,
  payload   TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX promotions_key ON promotions (bucket_id, key);

-- One row per content, or part of an open upload, that placement has to look at: its
-- copies may be too few, too many, or in the wrong place.
CREATE TABLE placements (
  id         TEXT   PRIMARY KEY, -- of the content, or of the part's blob
  part       BIGINT NOT NULL,
  leave      TEXT   NOT NULL, -- the backend that a copy is to leave, to even out; '' none
  due_at     BIGINT NOT NULL, -- claimed: when the claim ends
  worker     TEXT   NOT NULL,
  fence      BIGINT NOT NULL, -- 0 unclaimed
  attempts   BIGINT NOT NULL,
  last_error TEXT   NOT NULL
) WITHOUT ROWID;
CREATE INDEX placements_due ON placements (due_at);

-- One row per bucket whose objects carry stamps of older rules, and how far they were
-- stamped anew.
CREATE TABLE reapplications (
  bucket_id  TEXT   PRIMARY KEY REFERENCES buckets(id) ON DELETE CASCADE,
  after_key  TEXT   NOT NULL,
  seen       BIGINT NOT NULL,
  changed    BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  orders     BIGINT NOT NULL -- 1: and are put in another order of eviction
) WITHOUT ROWID;

-- One row per bucket that evicts: a hold keeps all its objects up to this place in their order.
CREATE TABLE evictions (
  bucket_id TEXT   PRIMARY KEY REFERENCES buckets(id) ON DELETE CASCADE,
  kept_at   BIGINT NOT NULL, -- last use
  kept_key  TEXT   NOT NULL
) WITHOUT ROWID;

-- One row per object or trash entry that was due and has to wait, for a hold or a limit: it
-- left its due index and is here until it returns.
CREATE TABLE deferred (
  bucket_id TEXT   NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  key       TEXT   NOT NULL,
  entry     TEXT   NOT NULL, -- of the trash; '' the object
  due_at    BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, key, entry)
) WITHOUT ROWID;

-- One row per prefix where a hold was released, and how far what was deferred there was
-- looked through.
CREATE TABLE releases (
  bucket_id   TEXT NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  prefix      TEXT NOT NULL,
  after_key   TEXT NOT NULL,
  after_entry TEXT NOT NULL,
  PRIMARY KEY (bucket_id, prefix)
) WITHOUT ROWID;

-- One row per walk that compares a backend's listing with the ledger. One that was cut
-- off is taken up where it stopped.
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

-- One row per difference that walks found. It is forgotten once a whole walk has not come
-- upon it.
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

-- One row per count of what a bucket stores. The newest one of a bucket is whole.
CREATE TABLE usages (
  bucket_id TEXT   NOT NULL REFERENCES buckets(id) ON DELETE CASCADE,
  taken_at  BIGINT NOT NULL,
  brief     BLOB   NOT NULL, -- JSON: totals and the largest prefixes
  document  BLOB   NOT NULL, -- JSON: everything; empty: a newer count is there
  PRIMARY KEY (bucket_id, taken_at)
) WITHOUT ROWID;

-- One row per event that waits to be delivered to a target, or was given up. Its number is
-- never used again: it is the event's place among those of its key.
CREATE TABLE events (
  no         INTEGER PRIMARY KEY AUTOINCREMENT,
  target     TEXT   NOT NULL,
  bucket_id  TEXT   NOT NULL,
  key        TEXT   NOT NULL,
  at         BIGINT NOT NULL,
  dead       BIGINT NOT NULL DEFAULT 0, -- 1: given up
  due_at     BIGINT NOT NULL, -- claimed: when the claim ends
  worker     TEXT   NOT NULL DEFAULT '',
  fence      BIGINT NOT NULL DEFAULT 0, -- 0 unclaimed
  attempts   BIGINT NOT NULL DEFAULT 0,
  last_error TEXT   NOT NULL DEFAULT '',
  body       TEXT   NOT NULL -- what happened, JSON
);
CREATE INDEX events_queue ON events (target, dead, no, due_at);
CREATE INDEX events_key ON events (bucket_id, key, target, no, due_at) WHERE dead = 0;
CREATE INDEX events_dead ON events (bucket_id, key, target, no) WHERE dead = 1;

-- One row per target that a bucket has named.
CREATE TABLE event_targets (
  name          TEXT   PRIMARY KEY,
  delivered     BIGINT NOT NULL DEFAULT 0,
  lost          BIGINT NOT NULL DEFAULT 0, -- dropped beyond the bound
  failures      BIGINT NOT NULL DEFAULT 0, -- settlements in a row that delivered nothing
  failing_since BIGINT NOT NULL DEFAULT 0, -- 0: it does not fail
  rest_until    BIGINT NOT NULL DEFAULT 0, -- nothing is sent before
  last_error    TEXT   NOT NULL DEFAULT ''
) WITHOUT ROWID;

-- 4. Receipts: what was deleted, when and why (docs/receipts.md).

-- One row per transaction that took something away, until it is sealed.
CREATE TABLE receipts (
  id   INTEGER PRIMARY KEY,
  at   BIGINT NOT NULL,
  n    BIGINT NOT NULL,
  body BLOB   NOT NULL
);

-- One row per sealed segment: a link of a chain of hashes.
CREATE TABLE receipt_seals (
  seq       BIGINT PRIMARY KEY,
  first_no  BIGINT NOT NULL,
  n         BIGINT NOT NULL,
  since_at  BIGINT NOT NULL,
  until_at  BIGINT NOT NULL,
  sealed_at BIGINT NOT NULL,
  digest    TEXT   NOT NULL,
  prev      TEXT   NOT NULL,
  hash      TEXT   NOT NULL,
  dropped   BIGINT NOT NULL -- 1: the anchor, its pages are past their time
);

-- One row per page of a segment, ordered by what receipts are looked up by.
CREATE TABLE receipt_pages (
  seq    BIGINT NOT NULL,
  lowest BIGINT NOT NULL,
  page   BIGINT NOT NULL,
  n      BIGINT NOT NULL,
  body   BLOB   NOT NULL,
  PRIMARY KEY (seq, lowest, page)
) WITHOUT ROWID;

-- 5. Operations: who the ledger is, who works on it, and who may.

-- One row: the ledger itself.
CREATE TABLE store (
  one         BIGINT PRIMARY KEY CHECK (one = 1),
  id          TEXT   NOT NULL, -- begins every blob's name
  db          TEXT   NOT NULL, -- of this database: new after a restore
  created_at  BIGINT NOT NULL,
  clock_high  BIGINT NOT NULL, -- highest time ever used; the clock never runs back behind it
  fence       BIGINT NOT NULL, -- highest given to a claim
  place       TEXT   NOT NULL DEFAULT '', -- where the ledger lies, found anew at every start: a copy lies elsewhere
  boot        TEXT   NOT NULL DEFAULT '', -- the start of the machine under which clock_high was saved
  boot_offset BIGINT NOT NULL DEFAULT 0,  -- the clock less the time since that start (docs/protocol.md, rule 13)
  rules_revision BIGINT NOT NULL DEFAULT 1   -- grows whenever a bucket's lifecycle rules are changed
);

-- One row per instance that works on the ledger.
CREATE TABLE instances (
  id         TEXT   PRIMARY KEY, -- the worker's name in claims and runs
  started_at BIGINT NOT NULL,
  beat_at    BIGINT NOT NULL,
  info       TEXT   NOT NULL,
  asked      BIGINT NOT NULL DEFAULT 0 -- how often others have asked for a fresh heartbeat
) WITHOUT ROWID;

-- One row per secret that all instances have in common.
CREATE TABLE secrets (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- One row per pass of a routine.
CREATE TABLE runs (
  id          TEXT   PRIMARY KEY,
  routine     TEXT   NOT NULL,
  worker      TEXT   NOT NULL,
  started_at  BIGINT NOT NULL,
  beat_at     BIGINT NOT NULL,
  finished_at BIGINT NOT NULL, -- 0: in progress
  outcome     TEXT   NOT NULL,
  counts      TEXT   NOT NULL,
  solo        BIGINT NOT NULL DEFAULT 0 -- 1: no other of the routine may be in progress
) WITHOUT ROWID;
CREATE INDEX runs_routine ON runs (routine, id);
CREATE UNIQUE INDEX runs_solo ON runs (routine) WHERE solo = 1 AND finished_at = 0;
CREATE INDEX runs_open ON runs (beat_at) WHERE finished_at = 0;
-- Runs are ordered by when they began, by the ledger's clock: ids are made by the clocks
-- of the instances, before their runs begin.
CREATE INDEX runs_begun ON runs (routine, started_at, id);

-- One row per operation of a client: what it did, should its answer be lost.
CREATE TABLE ops (
  id        TEXT   PRIMARY KEY,
  what      TEXT   NOT NULL,
  object_id TEXT   NOT NULL,
  at        BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX ops_at ON ops (at);

-- One row per limit on deletions: what was taken within the hour, and what stopped for it.
CREATE TABLE limits (
  kind       TEXT   NOT NULL,
  subject    TEXT   NOT NULL, -- the id of a bucket or of a backend; '' the store
  hour       BIGINT NOT NULL, -- since 1970, that n is of
  n          BIGINT NOT NULL, -- deletions in that hour
  tripped_at    BIGINT NOT NULL, -- 0: not held
  tripped_until BIGINT NOT NULL, -- ends by itself then
  reason     TEXT   NOT NULL,
  free_until BIGINT NOT NULL, -- a person has allowed what is beyond the limits
  free_n     BIGINT NOT NULL, -- so many; -1 any number
  PRIMARY KEY (kind, subject)
) WITHOUT ROWID;

-- One row per backend, state and slot. A writer chooses the slot; a total is the sum over
-- the slots.
CREATE TABLE blob_counters (
  backend TEXT   NOT NULL,
  state   BIGINT NOT NULL,
  slot    BIGINT NOT NULL,
  n       BIGINT NOT NULL,
  bytes   BIGINT NOT NULL,
  PRIMARY KEY (backend, state, slot)
) WITHOUT ROWID;

-- One row per bucket and slot, as blob_counters.
CREATE TABLE bucket_counters (
  bucket_id TEXT   NOT NULL,
  slot      BIGINT NOT NULL,
  n         BIGINT NOT NULL,
  bytes     BIGINT NOT NULL,
  PRIMARY KEY (bucket_id, slot)
) WITHOUT ROWID;

-- One row per credential of an S3 client, beside the root's.
CREATE TABLE access_keys (
  id         TEXT   PRIMARY KEY,
  secret     TEXT   NOT NULL, -- sealed if there is a sealing key
  owner      TEXT   NOT NULL,
  buckets    TEXT   NOT NULL,
  read_only  BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  settings   BIGINT NOT NULL, -- 1: it may change settings of its buckets, make and delete them
  default_ttl BIGINT NOT NULL DEFAULT 0, -- of what it writes; 0: the bucket's
  max_ttl     BIGINT NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- One row per token of the admin API.
CREATE TABLE admin_tokens (
  id         TEXT   PRIMARY KEY,
  name       TEXT   NOT NULL UNIQUE,
  role       TEXT   NOT NULL,
  hash       TEXT   NOT NULL, -- hex SHA-256 of the token
  created_at BIGINT NOT NULL,
  created_by TEXT   NOT NULL,
  expires_at BIGINT NOT NULL  -- 0: never
) WITHOUT ROWID;

-- Views, under the names and columns that operators of other stores know. They are for
-- people to read; the program does not use them.

-- One row per condemned blob.
CREATE VIEW cleanup_queue AS
SELECT b.id AS id, b.backend AS backend_name,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.reason AS reason, b.size AS size_bytes,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.died_at / 1000000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.due_at / 1000000.0, 'unixepoch') AS next_retry,
  b.attempts AS attempts, NULLIF(b.last_error, '') AS last_error,
  strftime('%Y-%m-%dT%H:%M:%fZ', NULLIF(b.claimed_at, 0) / 1000000.0, 'unixepoch') AS claimed_at, NULLIF(b.worker, '') AS claimed_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', NULLIF(b.late_until, 0) / 1000000.0, 'unixepoch') AS late_until, b.content_id AS content_id, b.upload_id AS upload_id
FROM blobs b WHERE b.state = 3;

-- One row per dead letter. Its id is the one that it had in the queue.
CREATE VIEW cleanup_dlq AS
SELECT b.id AS id, b.id AS original_id, b.backend AS backend_name,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.reason AS reason, b.size AS size_bytes, b.attempts AS attempts,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.died_at / 1000000.0, 'unixepoch') AS first_enqueued_at,
  NULLIF(b.last_error, '') AS last_error, b.content_id AS content_id, b.upload_id AS upload_id
FROM blobs b WHERE b.state = 4;

-- One row per intent.
CREATE VIEW pending_objects AS
SELECT b.id AS intent_id, b.backend AS backend_name,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.size AS size_bytes, NULLIF(b.digest, '') AS content_hash,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.created_at / 1000000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.beat_at / 1000000.0, 'unixepoch') AS beat_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', NULLIF(b.claimed_at, 0) / 1000000.0, 'unixepoch') AS claimed_at, NULLIF(b.worker, '') AS claimed_by,
  k.name AS bucket_name, p.key AS client_key, b.upload_id AS upload_id
FROM blobs b LEFT JOIN promotions p ON p.blob_id = b.id LEFT JOIN buckets k ON k.id = p.bucket_id WHERE b.state = 1;

-- One row per live blob: a copy of a segment of a content, or a part of an upload.
CREATE VIEW object_locations AS
SELECT b.id AS id,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.backend AS backend_name, b.size AS size_bytes, b.digest AS content_hash,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.created_at / 1000000.0, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', NULLIF(b.verified_at, 0) / 1000000.0, 'unixepoch') AS last_scrubbed_at, b.suspect AS suspect,
  b.content_id AS content_id, b.segment AS segment, b.replica AS replica, b.upload_id AS upload_id
FROM blobs b WHERE b.state = 2;

-- One row per object of a client and live blob of its content: what lies where of
-- which key. Objects of zero bytes lie nowhere.
CREATE VIEW object_copies AS
SELECT k.name AS bucket_name, o.key AS client_key, o.size AS object_bytes, o.etag AS etag,
  strftime('%Y-%m-%dT%H:%M:%fZ', o.modified_at / 1000000.0, 'unixepoch') AS modified_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', o.due_at / 1000000.0, 'unixepoch') AS ends_at, l.backend_name AS backend_name, l.object_key AS object_key, l.size_bytes AS size_bytes,
  l.segment AS segment, l.replica AS replica, l.suspect AS suspect, o.content_id AS content_id
FROM objects o JOIN object_locations l ON l.content_id = o.content_id LEFT JOIN buckets k ON k.id = o.bucket_id;

-- One row per object of a client whose bytes lie in the ledger, as object_copies.
CREATE VIEW inline_objects AS
SELECT k.name AS bucket_name, o.key AS client_key, o.size AS object_bytes, o.etag AS etag,
  strftime('%Y-%m-%dT%H:%M:%fZ', o.modified_at / 1000000.0, 'unixepoch') AS modified_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', o.due_at / 1000000.0, 'unixepoch') AS ends_at, y.head AS body, o.content_id AS content_id
FROM objects o JOIN contents c ON c.id = o.content_id JOIN bodies y ON y.no = c.body_no LEFT JOIN buckets k ON k.id = o.bucket_id;
