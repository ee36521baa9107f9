-- Lifecycle rules. A bucket's rules are one document, read in the transactions
-- that write, and locked by those that delete; each rule has a number that no
-- other rule of the bucket ever has.
ALTER TABLE buckets ADD COLUMN rules      TEXT COLLATE "C"   NOT NULL DEFAULT ''; -- JSON; '' none
ALTER TABLE buckets ADD COLUMN rules_by   TEXT COLLATE "C"   NOT NULL DEFAULT ''; -- who set them
ALTER TABLE buckets ADD COLUMN rules_last BIGINT NOT NULL DEFAULT 0;  -- highest number given

-- The number of the rule that rule_at comes from, 0 for none.
ALTER TABLE objects ADD COLUMN rule_no BIGINT NOT NULL DEFAULT 0;

-- Buckets whose objects carry stamps of older rules, and how far they were
-- stamped anew.
CREATE TABLE restamps (
  bucket_id  TEXT COLLATE "C"   PRIMARY KEY REFERENCES buckets(id) ON DELETE CASCADE,
  after_key  TEXT COLLATE "C"   NOT NULL,
  seen       BIGINT NOT NULL,
  changed    BIGINT NOT NULL,
  started_at BIGINT NOT NULL
);
