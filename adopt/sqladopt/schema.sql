-- Lethe's tables beside an application's. "lethe adopt remove" drops them with
-- their schema. Times are microseconds since 1970, by this database's clock.
{create schema}

-- One row: who this is, and which schema it has.
CREATE TABLE IF NOT EXISTS {lethe}adoption (
    one        smallint PRIMARY KEY CHECK (one = 1),
    version    integer  NOT NULL,
    created_at bigint   NOT NULL
);

-- Collections: whoever takes something away locks its row shared, whoever sets or releases
-- a hold alone. The row without a name is that of all whose rows may go with rows above.
CREATE TABLE IF NOT EXISTS {lethe}collections (
    name       {key text} PRIMARY KEY,
    holds      bigint NOT NULL DEFAULT 0,
    place      text   NOT NULL DEFAULT '',  -- of the table of rows, when a hold was set last
    key_column text   NOT NULL DEFAULT ''
);

-- What is kept: 1 everything, 2 the row of a key, 3 the object of a key, 4 all objects
-- whose keys begin so.
CREATE TABLE IF NOT EXISTS {lethe}holds (
    collection {key text} NOT NULL,
    scope      smallint NOT NULL CHECK (scope IN (1, 2, 3, 4)),
    "key"      {key text} NOT NULL,
    reason     text     NOT NULL,
    set_by     text     NOT NULL,
    set_at     bigint   NOT NULL,
    until_at   bigint   NOT NULL,  -- 0: until it is released
    PRIMARY KEY (collection, scope, "key")
);

-- Contents that nobody refers to: 1 waiting, 2 condemned (its object may be gone any
-- time), 3 gone (the mark stays until due_at). In 2 and 3 a guard refuses references.
-- Without one the object is looked for once more after 3.
CREATE TABLE IF NOT EXISTS {lethe}condemned (
    collection   {key text} NOT NULL,
    content      {key text} NOT NULL,
    object       text     NOT NULL,
    state        smallint NOT NULL CHECK (state IN (1, 2, 3)),
    due_at       bigint   NOT NULL,            -- when it may be taken, or the mark ends
    fence        bigint   NOT NULL DEFAULT 0,  -- of the worker that has it
    marked_at    bigint   NOT NULL DEFAULT 0,
    unseen_until bigint   NOT NULL DEFAULT 0,  -- a delete may yet take effect
    attempts     integer  NOT NULL DEFAULT 0,
    error        text     NOT NULL DEFAULT '', -- of the latest attempt
    PRIMARY KEY (collection, content)
);
CREATE INDEX IF NOT EXISTS {index}condemned_due ON {lethe}condemned (collection, state, due_at);
{object index}

-- What the contents in condemned stand for, by the description under which they wait.
CREATE TABLE IF NOT EXISTS {lethe}meanings (
    collection {key text} PRIMARY KEY,
    meaning    text NOT NULL
);

-- Copies to be dropped from the cache once more, a JSON list of keys a row.
CREATE TABLE IF NOT EXISTS {lethe}cache_due (
    id         {identity},
    collection text   NOT NULL,
    due_at     bigint NOT NULL,
    "keys"     text   NOT NULL
);
CREATE INDEX IF NOT EXISTS {index}cache_due_at ON {lethe}cache_due (collection, due_at);

-- Folders that no row names: 1 seen once, 2 seen twice, and their marker is being put,
-- 3 marked, 4 marked, and objects of it may be gone.
CREATE TABLE IF NOT EXISTS {lethe}folders (
    collection {key text} NOT NULL,
    name       {key text} NOT NULL,  -- below the prefix
    state      smallint NOT NULL CHECK (state IN (1, 2, 3, 4)),
    seen_at    bigint   NOT NULL,
    marked_at  bigint   NOT NULL DEFAULT 0,    -- when the marker was recorded
    marker_at  bigint   NOT NULL DEFAULT 0,    -- the marker's time, by the backend's clock
    purged     bigint   NOT NULL DEFAULT 0,    -- objects that are gone
    allowed_at bigint   NOT NULL DEFAULT 0,    -- when deletes were allowed last
    PRIMARY KEY (collection, name)
);

-- Objects that no row names.
CREATE TABLE IF NOT EXISTS {lethe}orphans (
    collection {key text} NOT NULL,
    "key"      {key text} NOT NULL,
    size       bigint NOT NULL,
    modified   bigint NOT NULL,  -- by the bucket's clock
    since_at   bigint NOT NULL,  -- it has been known, unchanged
    allowed_at bigint NOT NULL DEFAULT 0,  -- when its delete was; 0: it was not
    seen_at    bigint NOT NULL,
    PRIMARY KEY (collection, "key")
);

-- Objects in quarantine: 1 being copied, 2 copied (the object may be gone any time), 3
-- being copied back, 4 the copy may be gone any time.
CREATE TABLE IF NOT EXISTS {lethe}quarantined (
    collection {key text} NOT NULL,
    "key"      {key text} NOT NULL,
    copy       text     NOT NULL,            -- the key of the copy
    size       bigint   NOT NULL,
    tag        text     NOT NULL,            -- of the object that was copied
    state      smallint NOT NULL CHECK (state IN (1, 2, 3, 4)),
    fence      bigint   NOT NULL,            -- of the worker that has it
    due_at     bigint   NOT NULL,            -- it is that worker's before
    since_at   bigint   NOT NULL,
    until_at   bigint   NOT NULL DEFAULT 0,  -- it is not purged before
    late_at    bigint   NOT NULL DEFAULT 0,  -- a delete of the object may take effect before
    wanted     smallint NOT NULL DEFAULT 0,  -- somebody asked for it back
    PRIMARY KEY (collection, "key")
);

-- Copies in parts that were begun: whoever dies leaves them to others, who give them up.
CREATE TABLE IF NOT EXISTS {lethe}uploads (
    collection {key text} NOT NULL,
    "key"      {key text} NOT NULL,  -- of the object
    fence      bigint NOT NULL,      -- of the worker
    name       text   NOT NULL,      -- the key of the upload: the object's, or that of its copy
    id         text   NOT NULL,      -- of the service
    at         bigint NOT NULL,
    PRIMARY KEY (collection, "key", fence)
);

-- What was found wrong: 1 an object that something refers to is gone, 2 the count of a
-- content, 3 why the instance that checked it last does not work on the collection.
CREATE TABLE IF NOT EXISTS {lethe}troubles (
    collection {key text} NOT NULL,
    kind       smallint NOT NULL CHECK (kind IN (1, 2, 3)),
    "key"      {key text} NOT NULL,
    at         bigint   NOT NULL,
    why        text     NOT NULL DEFAULT '',
    PRIMARY KEY (collection, kind, "key")
);

-- Prefixes of buckets whose objects belong to this database, with their epochs
-- (adopt.Pairing).
CREATE TABLE IF NOT EXISTS {lethe}pairings (
    place      {key text} PRIMARY KEY,
    number     bigint NOT NULL,
    nonce      text   NOT NULL,
    next_nonce text   NOT NULL,  -- of the epoch after it; empty if none is begun
    at         bigint NOT NULL,
    marks      text   NOT NULL   -- of the database itself then, one a line
);

-- What instances work on, for each of their collections that reclaims: by it descriptions
-- of this database find each other.
CREATE TABLE IF NOT EXISTS {lethe}at_work (
    worker     {key text} NOT NULL,
    collection {key text} NOT NULL,
    place      text   NOT NULL,  -- bucket and prefix; empty: none
    quarantine text   NOT NULL,  -- the same of its quarantine
    row_table  text   NOT NULL,  -- from which it takes rows
    at         bigint NOT NULL,
    alive      bigint NOT NULL,  -- until then the instance counts as running
    PRIMARY KEY (worker, collection)
);

-- How many rows named a folder, or a key, at the last run.
CREATE TABLE IF NOT EXISTS {lethe}live_rows (
    collection text   PRIMARY KEY,
    live       bigint NOT NULL,
    at         bigint NOT NULL
);

-- What each transaction took away, a JSON list of keys a row, until it is sealed.
CREATE TABLE IF NOT EXISTS {lethe}receipts (
    id         {identity},
    collection text   NOT NULL,
    kind       text   NOT NULL,  -- rows, objects and so on
    at         bigint NOT NULL,
    "keys"     text   NOT NULL
);
CREATE INDEX IF NOT EXISTS {index}receipts_at ON {lethe}receipts (at);

-- The chain of receipts, as that of a store (internal/receiptdb).
CREATE TABLE IF NOT EXISTS {lethe}receipt_seals (
    seq       bigint   PRIMARY KEY,
    first_no  bigint   NOT NULL,
    n         bigint   NOT NULL,
    since_at  bigint   NOT NULL,
    until_at  bigint   NOT NULL,
    sealed_at bigint   NOT NULL,
    digest    text     NOT NULL,
    prev      text     NOT NULL,
    hash      text     NOT NULL,
    dropped   smallint NOT NULL  -- 1: the anchor, its pages are past their time
);
CREATE TABLE IF NOT EXISTS {lethe}receipt_pages (
    seq    bigint NOT NULL,
    lowest bigint NOT NULL,
    page   bigint NOT NULL,
    n      bigint NOT NULL,
    body   {bytes} NOT NULL,
    PRIMARY KEY (seq, lowest, page)
);

-- Runs of routines: what is in progress, and what succeeded last.
CREATE TABLE IF NOT EXISTS {lethe}runs (
    id          text     PRIMARY KEY,
    routine     text     NOT NULL,
    worker      text     NOT NULL,
    started_at  bigint   NOT NULL,
    beat_at     bigint   NOT NULL,
    finished_at bigint   NOT NULL DEFAULT 0,
    outcome     text     NOT NULL DEFAULT '',
    counts      text     NOT NULL DEFAULT '{}',
    solo        smallint NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS {index}runs_by_routine ON {lethe}runs (routine, started_at);
CREATE UNIQUE INDEX IF NOT EXISTS {index}runs_solo ON {lethe}runs (routine) WHERE solo = 1 AND finished_at = 0;
