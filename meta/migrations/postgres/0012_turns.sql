-- Turns: what is due of one bucket is found without that of the others, so
-- that a batch can take some of each. With the size, as the other due indexes. The
-- last condition holds always: it keeps these indexes from being taken for others.
CREATE INDEX objects_turns ON objects (bucket_id, due_at, size) WHERE due_at IS NOT NULL AND length(bucket_id) >= 0;

-- The bucket that a condemned blob's last reference was in; '' not known.
ALTER TABLE blobs ADD COLUMN bucket_id TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX blobs_turns ON blobs (bucket_id, backend, due_at, size) WHERE state = 3 AND fence = 0 AND length(bucket_id) >= 0;
