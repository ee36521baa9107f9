-- The tables of the paste service. "pastebin migrate" applies them; doing so
-- again changes nothing.

-- One row per stored content; pastes with equal bytes share it. A row whose
-- ref_count is 0 and its object are for a cleanup to remove.
CREATE TABLE IF NOT EXISTS content (
    content_hash text        PRIMARY KEY,                          -- SHA-256, hexadecimal
    object_key   text        NOT NULL UNIQUE,                      -- in the bucket
    size         bigint      NOT NULL,                             -- bytes
    ref_count    bigint      NOT NULL CHECK (ref_count >= 0),      -- rows of pastes that name it
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- One row per paste. A content cannot go while a paste names it: CASCADE would
-- remove pastes that somebody still reads, SET NULL would leave them without
-- bytes. The check may be deferred, for a transaction that removes a content
-- before its last paste.
CREATE TABLE IF NOT EXISTS pastes (
    short_code            text        PRIMARY KEY,
    content_hash          text        REFERENCES content ON DELETE NO ACTION DEFERRABLE INITIALLY IMMEDIATE,
    expires_at            timestamptz NULL,                        -- null: never
    created_at            timestamptz NOT NULL DEFAULT now(),
    deletion_status       varchar(20) NOT NULL DEFAULT 'NOT_EXPIRED'
        CHECK (deletion_status IN ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')),
    deletion_initiated_at timestamptz NULL,                        -- when DELETION_IN_PROGRESS began
    -- Only a row that is kept as a record of its deletion has no content.
    CHECK (content_hash IS NOT NULL OR deletion_status = 'DELETED')
);

-- What is due, by its end.
CREATE INDEX IF NOT EXISTS pastes_due ON pastes (expires_at)
    WHERE deletion_status = 'NOT_EXPIRED' AND expires_at IS NOT NULL;
-- Deletions that have begun, the oldest first.
CREATE INDEX IF NOT EXISTS pastes_in_progress ON pastes (deletion_initiated_at)
    WHERE deletion_status = 'DELETION_IN_PROGRESS';
-- Who names a content: the foreign key asks this for each content that goes.
CREATE INDEX IF NOT EXISTS pastes_by_content ON pastes (content_hash);
-- Contents that no paste names.
CREATE INDEX IF NOT EXISTS content_unreferenced ON content (content_hash) WHERE ref_count = 0;
