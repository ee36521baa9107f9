-- Tokens of the admin API, by the digest of their text, and the ledger under the
-- names and columns that operators of other stores know. The views are for reading;
-- nothing of ours reads them.
CREATE TABLE admin_tokens (
  id         TEXT COLLATE "C" PRIMARY KEY,
  name       TEXT COLLATE "C" NOT NULL UNIQUE,
  role       TEXT COLLATE "C" NOT NULL,
  hash       TEXT COLLATE "C" NOT NULL, -- hex SHA-256 of the token
  created_at BIGINT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL  -- 0: never
);

-- One row per condemned blob.
CREATE VIEW cleanup_queue AS
SELECT b.id AS id, b.backend AS backend_name,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.reason AS reason, b.size AS size_bytes,
  TIMESTAMPTZ 'epoch' + b.died_at * INTERVAL '1 microsecond' AS created_at,
  TIMESTAMPTZ 'epoch' + b.due_at * INTERVAL '1 microsecond' AS next_retry,
  b.attempts AS attempts, NULLIF(b.last_error, '') AS last_error,
  TIMESTAMPTZ 'epoch' + NULLIF(b.claimed_at, 0) * INTERVAL '1 microsecond' AS claimed_at, NULLIF(b.worker, '') AS claimed_by,
  TIMESTAMPTZ 'epoch' + NULLIF(b.late_until, 0) * INTERVAL '1 microsecond' AS late_until, b.content_id AS content_id, b.upload_id AS upload_id
FROM blobs b WHERE b.state = 3;

-- One row per dead letter. Its id is the one that it had in the queue.
CREATE VIEW cleanup_dlq AS
SELECT b.id AS id, b.id AS original_id, b.backend AS backend_name,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.reason AS reason, b.size AS size_bytes, b.attempts AS attempts,
  TIMESTAMPTZ 'epoch' + b.died_at * INTERVAL '1 microsecond' AS first_enqueued_at,
  NULLIF(b.last_error, '') AS last_error, b.content_id AS content_id, b.upload_id AS upload_id
FROM blobs b WHERE b.state = 4;

-- One row per intent.
CREATE VIEW pending_objects AS
SELECT b.id AS intent_id, b.backend AS backend_name,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.size AS size_bytes, NULLIF(b.digest, '') AS content_hash,
  TIMESTAMPTZ 'epoch' + b.created_at * INTERVAL '1 microsecond' AS created_at,
  TIMESTAMPTZ 'epoch' + b.beat_at * INTERVAL '1 microsecond' AS beat_at,
  TIMESTAMPTZ 'epoch' + NULLIF(b.claimed_at, 0) * INTERVAL '1 microsecond' AS claimed_at, NULLIF(b.worker, '') AS claimed_by,
  k.name AS bucket_name, p.key AS client_key, b.upload_id AS upload_id
FROM blobs b LEFT JOIN promotions p ON p.blob_id = b.id LEFT JOIN buckets k ON k.id = p.bucket_id WHERE b.state = 1;

-- One row per live blob: a copy of a segment of a content, or a part of an upload.
CREATE VIEW object_locations AS
SELECT b.id AS id,
  (SELECT s.id FROM store s) || '/' || substr(b.id, 24, 2) || '/' || b.id AS object_key,
  b.backend AS backend_name, b.size AS size_bytes, b.digest AS content_hash,
  TIMESTAMPTZ 'epoch' + b.created_at * INTERVAL '1 microsecond' AS created_at,
  TIMESTAMPTZ 'epoch' + NULLIF(b.verified_at, 0) * INTERVAL '1 microsecond' AS last_scrubbed_at, b.suspect AS suspect,
  b.content_id AS content_id, b.segment AS segment, b.replica AS replica, b.upload_id AS upload_id
FROM blobs b WHERE b.state = 2;

-- One row per object of a client and live blob of its content: what lies where of
-- which key. Objects of zero bytes lie nowhere.
CREATE VIEW object_copies AS
SELECT k.name AS bucket_name, o.key AS client_key, o.size AS object_bytes, o.etag AS etag,
  TIMESTAMPTZ 'epoch' + o.modified_at * INTERVAL '1 microsecond' AS modified_at,
  TIMESTAMPTZ 'epoch' + o.due_at * INTERVAL '1 microsecond' AS ends_at, l.backend_name AS backend_name, l.object_key AS object_key, l.size_bytes AS size_bytes,
  l.segment AS segment, l.replica AS replica, l.suspect AS suspect, o.content_id AS content_id
FROM objects o JOIN object_locations l ON l.content_id = o.content_id LEFT JOIN buckets k ON k.id = o.bucket_id;
