-- Whether a key may change what is said of its buckets: policy, lists, rules, tags,
-- holds, and the bucket itself. Keys from before may, as they could.
ALTER TABLE access_keys ADD COLUMN settings BIGINT NOT NULL DEFAULT 1;
