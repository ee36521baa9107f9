-- What placement has to look at: contents, and parts of open uploads, whose copies
-- may be too few, too many, or in the wrong place.
ALTER TABLE backends ADD COLUMN draining BIGINT NOT NULL DEFAULT 0;

CREATE TABLE placements (
  id         TEXT   PRIMARY KEY, -- of the content, or of the part's blob
  part       BIGINT NOT NULL,
  leave      TEXT   NOT NULL, -- the backend that a copy is to leave, to even out; '' none
  due_at     BIGINT NOT NULL, -- claimed: when the claim ends
  worker     TEXT   NOT NULL,
  fence      BIGINT NOT NULL, -- 0 unclaimed
  attempts   BIGINT NOT NULL,
  last_error TEXT   NOT NULL
) WITHOUT ROWID;
CREATE INDEX placements_due ON placements (due_at);
