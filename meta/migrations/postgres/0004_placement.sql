-- What placement has to look at: contents, and parts of open uploads, whose copies
-- may be too few, too many, or in the wrong place.
ALTER TABLE backends ADD COLUMN draining BIGINT NOT NULL DEFAULT 0;

CREATE TABLE placements (
  id         TEXT COLLATE "C"   PRIMARY KEY, -- of the content, or of the part's blob
  part       BIGINT NOT NULL,
  leave      TEXT COLLATE "C"   NOT NULL, -- the backend that a copy is to leave, to even out; '' none
  due_at     BIGINT NOT NULL, -- claimed: when the claim ends
  worker     TEXT COLLATE "C"   NOT NULL,
  fence      BIGINT NOT NULL, -- 0 unclaimed
  attempts   BIGINT NOT NULL,
  last_error TEXT COLLATE "C"   NOT NULL
);
CREATE INDEX placements_due ON placements (due_at);
