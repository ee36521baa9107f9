-- The CRC-32C (Castagnoli) of each block of a blob that has several, so that what a
-- read by range touches is verified without the rest. A row holds those of up to 128
-- blocks, four bytes each, the highest first: 32 MiB of a blob at blocks of 256 KiB.
CREATE TABLE blocks (
  blob_id  TEXT COLLATE "C" NOT NULL,
  first_no BIGINT NOT NULL, -- of the row's first block, from 0 on
  sums     BYTEA  NOT NULL,
  PRIMARY KEY (blob_id, first_no)
);

-- The bytes of each block whose sums are known; 0: they are not, or there is one
-- block, whose CRC is the blob's.
ALTER TABLE blobs ADD COLUMN block BIGINT NOT NULL DEFAULT 0;
