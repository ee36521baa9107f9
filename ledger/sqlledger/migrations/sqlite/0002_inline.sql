-- needs: 2
-- Small contents lie in the ledger itself (docs/protocol.md, rule 23). A program that does
-- not know them would take them for lost.

ALTER TABLE contents ADD COLUMN body_no BIGINT NOT NULL DEFAULT 0; -- of its row in bodies; 0: none

-- One row per inline content: its bytes. A table by number, as keys beside long rows of an
-- index make SQLite read the rows at each comparison.
CREATE TABLE bodies (
  no     INTEGER PRIMARY KEY,
  crc32c BIGINT  NOT NULL, -- Castagnoli, of all bytes
  body   BLOB    NOT NULL
);

-- One row per object of a client whose bytes lie in the ledger, as object_copies.
CREATE VIEW inline_objects AS
SELECT k.name AS bucket_name, o.key AS client_key, o.size AS object_bytes, o.etag AS etag,
  strftime('%Y-%m-%dT%H:%M:%fZ', o.modified_at / 1000000.0, 'unixepoch') AS modified_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', o.due_at / 1000000.0, 'unixepoch') AS ends_at, y.body AS body, o.content_id AS content_id
FROM objects o JOIN contents c ON c.id = o.content_id JOIN bodies y ON y.no = c.body_no LEFT JOIN buckets k ON k.id = o.bucket_id;
