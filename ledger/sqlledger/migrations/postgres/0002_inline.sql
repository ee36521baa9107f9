-- needs: 2
-- Small contents lie in the ledger itself (docs/protocol.md, rule 23). A program that does
-- not know them would take them for lost.

ALTER TABLE contents ADD COLUMN inline BIGINT NOT NULL DEFAULT 0; -- 1: its bytes are in bodies

-- One row per inline content: its bytes.
CREATE TABLE bodies (
  content_id TEXT COLLATE "C" PRIMARY KEY,
  crc32c     BIGINT           NOT NULL, -- Castagnoli, of all bytes
  body       BYTEA            NOT NULL
);
-- Bodies are mostly compressed already, or too small to be worth the processor time.
ALTER TABLE bodies ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE bodies SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
  autovacuum_vacuum_cost_limit = 2000, autovacuum_vacuum_cost_delay = 1);

-- One row per object of a client whose bytes lie in the ledger, as object_copies.
CREATE VIEW inline_objects AS
SELECT k.name AS bucket_name, o.key AS client_key, o.size AS object_bytes, o.etag AS etag,
  TIMESTAMPTZ 'epoch' + o.modified_at * INTERVAL '1 microsecond' AS modified_at,
  TIMESTAMPTZ 'epoch' + o.due_at * INTERVAL '1 microsecond' AS ends_at, y.body AS body, o.content_id AS content_id
FROM objects o JOIN bodies y ON y.content_id = o.content_id LEFT JOIN buckets k ON k.id = o.bucket_id;
