-- CRC-32C (Castagnoli) of a blob's bytes, for reads, which hash at the speed of
-- the disk; 0: not known, the SHA-256 is computed then.
ALTER TABLE blobs ADD COLUMN crc32c BIGINT NOT NULL DEFAULT 0;
