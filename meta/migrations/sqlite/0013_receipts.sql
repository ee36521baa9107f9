-- Receipts of deletion. Each transaction that takes something away adds one row to
-- receipts; a routine seals them, batch by batch, into segments, each a link of a
-- chain of hashes, whose pages are ordered by what they are looked up by.
CREATE TABLE receipts (
  id   INTEGER PRIMARY KEY,
  at   BIGINT NOT NULL,
  n    BIGINT NOT NULL,
  body BLOB   NOT NULL
);

CREATE TABLE receipt_seals (
  seq        BIGINT PRIMARY KEY,
  first_no   BIGINT NOT NULL,
  n          BIGINT NOT NULL,
  since_at   BIGINT NOT NULL,
  until_at   BIGINT NOT NULL,
  sealed_at  BIGINT NOT NULL,
  digest     TEXT   NOT NULL,
  prev       TEXT   NOT NULL,
  hash       TEXT   NOT NULL,
  dropped    BIGINT NOT NULL -- 1: the anchor, its pages are past their time
);

CREATE TABLE receipt_pages (
  seq    BIGINT NOT NULL,
  lowest BIGINT NOT NULL,
  page   BIGINT NOT NULL,
  n      BIGINT NOT NULL,
  body   BLOB   NOT NULL,
  PRIMARY KEY (seq, lowest, page)
) WITHOUT ROWID;

-- Who took a version to the trash, for the receipt that is written when it leaves.
ALTER TABLE trash ADD COLUMN gone_op TEXT NOT NULL DEFAULT '';
ALTER TABLE trash ADD COLUMN gone_by TEXT NOT NULL DEFAULT ''; -- JSON; '' nobody
-- Who asked for it to be purged before its time.
ALTER TABLE trash ADD COLUMN ended_by TEXT NOT NULL DEFAULT '';
-- The name that a deleted bucket had.
ALTER TABLE buckets ADD COLUMN was TEXT NOT NULL DEFAULT '';
