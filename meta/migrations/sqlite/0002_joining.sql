-- Copies on their way to a content that has bytes already. Mostly there are none,
-- and whoever drops a content learns so at once.
CREATE INDEX blobs_joining ON blobs (content_id) WHERE state = 1 AND content_id IS NOT NULL;
