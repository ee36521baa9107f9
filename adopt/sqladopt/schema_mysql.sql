-- Lethe's tables beside an application's. "lethe adopt remove" drops them. Times are
-- microseconds since 1970, by the clock of this database. Keys are bytes: no collation takes
-- two of them for one.

-- One row: who this is, and which schema it has.
CREATE TABLE IF NOT EXISTS {lethe}adoption (
    one        smallint PRIMARY KEY CHECK (one = 1),
    version    integer  NOT NULL,
    created_at bigint   NOT NULL
) ENGINE = InnoDB;

-- Collections: whoever takes something away locks its row shared, whoever sets or releases
-- a hold alone. The row without a name is that of all whose rows may go with rows above.
CREATE TABLE IF NOT EXISTS {lethe}collections (
    name       varbinary(255) PRIMARY KEY,
    holds      bigint   NOT NULL DEFAULT 0,
    place      longtext NOT NULL DEFAULT (''),  -- of the table of rows, when a hold was set last
    key_column longtext NOT NULL DEFAULT ('')
) ENGINE = InnoDB;

-- What is kept: 1 everything, 2 the row of a key, 3 the object of a key, 4 all objects
-- whose keys begin so.
CREATE TABLE IF NOT EXISTS {lethe}holds (
    collection varbinary(255)  NOT NULL,
    scope      smallint NOT NULL CHECK (scope IN (1, 2, 3, 4)),
    "key"      varbinary(2800) NOT NULL,
    reason     longtext NOT NULL,
    set_by     longtext NOT NULL,
    set_at     bigint   NOT NULL,
    until_at   bigint   NOT NULL,  -- 0: until it is released
    PRIMARY KEY (collection, scope, "key")
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- Contents that nobody refers to: 1 waiting, 2 condemned (its object may be gone any
-- time), 3 gone (the mark stays until due_at). In 2 and 3 a guard refuses references.
-- Without one the object is looked for once more after 3.
CREATE TABLE IF NOT EXISTS {lethe}condemned (
    collection   varbinary(255)  NOT NULL,
    content      varbinary(2800) NOT NULL,
    object       longblob,                        -- NULL while a guard looks for the mark
    state        smallint NOT NULL CHECK (state IN (1, 2, 3)),
    due_at       bigint   NOT NULL,               -- when it may be taken, or the mark ends
    fence        bigint   NOT NULL DEFAULT 0,     -- of the worker that has it
    marked_at    bigint   NOT NULL DEFAULT 0,
    unseen_until bigint   NOT NULL DEFAULT 0,     -- a delete may yet take effect
    attempts     integer  NOT NULL DEFAULT 0,
    error        longtext NOT NULL DEFAULT (''),  -- of the latest attempt
    PRIMARY KEY (collection, content),
    KEY condemned_due (collection, state, due_at),
    -- One mark of an object that may be deleted: a key has up to 1,024 bytes.
    UNIQUE KEY condemned_object (collection, object(1024))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- Guards that are installed. Who marks contents holds its row, and who removes the guard
-- takes the row away first.
CREATE TABLE IF NOT EXISTS {lethe}guards (
    collection varbinary(255) PRIMARY KEY,
    version    varbinary(255) NOT NULL
) ENGINE = InnoDB;

-- What the contents in condemned stand for, by the description under which they wait.
CREATE TABLE IF NOT EXISTS {lethe}meanings (
    collection varbinary(255) PRIMARY KEY,
    meaning    longtext NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Copies to be dropped from the cache once more, a JSON list of keys a row.
CREATE TABLE IF NOT EXISTS {lethe}cache_due (
    id         bigint AUTO_INCREMENT PRIMARY KEY,
    collection varbinary(255) NOT NULL,
    due_at     bigint   NOT NULL,
    "keys"   longtext NOT NULL,
    KEY cache_due_at (collection, due_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- Folders that no row names: 1 seen once, 2 seen twice, and their marker is being put,
-- 3 marked, 4 marked, and objects of it may be gone.
CREATE TABLE IF NOT EXISTS {lethe}folders (
    collection varbinary(255)  NOT NULL,
    name       varbinary(2800) NOT NULL,           -- below the prefix
    state      smallint NOT NULL CHECK (state IN (1, 2, 3, 4)),
    seen_at    bigint   NOT NULL,
    marked_at  bigint   NOT NULL DEFAULT 0,        -- when the marker was recorded
    marker_at  bigint   NOT NULL DEFAULT 0,        -- the time of the marker, by the clock of the backend
    purged     bigint   NOT NULL DEFAULT 0,        -- objects that are gone
    allowed_at bigint   NOT NULL DEFAULT 0,        -- when deletes were allowed last
    PRIMARY KEY (collection, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Objects that no row names.
CREATE TABLE IF NOT EXISTS {lethe}orphans (
    collection varbinary(255)  NOT NULL,
    "key"    varbinary(2800) NOT NULL,
    size       bigint NOT NULL,
    modified   bigint NOT NULL,  -- by the clock of the bucket
    since_at   bigint NOT NULL,  -- it has been known, unchanged
    seen_at    bigint NOT NULL,
    allowed_at bigint NOT NULL DEFAULT 0,  -- when its delete was; 0: it was not
    PRIMARY KEY (collection, "key")
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Objects in quarantine: 1 being copied, 2 copied (the object may be gone any time), 3
-- being copied back, 4 the copy may be gone any time.
CREATE TABLE IF NOT EXISTS {lethe}quarantined (
    collection varbinary(255)  NOT NULL,
    "key"      varbinary(2800) NOT NULL,
    copy       longblob NOT NULL,            -- the key of the copy
    size       bigint   NOT NULL,
    tag        longblob NOT NULL,            -- of the object that was copied
    state      smallint NOT NULL CHECK (state IN (1, 2, 3, 4)),
    fence      bigint   NOT NULL,            -- of the worker that has it
    due_at     bigint   NOT NULL,            -- it belongs to that worker before
    since_at   bigint   NOT NULL,
    until_at   bigint   NOT NULL DEFAULT 0,  -- it is not purged before
    late_at    bigint   NOT NULL DEFAULT 0,  -- a delete of the object may take effect before
    wanted     smallint NOT NULL DEFAULT 0,  -- somebody asked for it back
    PRIMARY KEY (collection, "key")
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Copies in parts that were begun: whoever dies leaves them to others, who give them up.
CREATE TABLE IF NOT EXISTS {lethe}uploads (
    collection varbinary(255)  NOT NULL,
    "key"      varbinary(2800) NOT NULL,  -- of the object
    fence      bigint   NOT NULL,         -- of the worker
    name       longblob NOT NULL,         -- the key of the upload: the object's, or that of its copy
    id         longblob NOT NULL,         -- of the service
    at         bigint   NOT NULL,
    PRIMARY KEY (collection, "key", fence)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What was found wrong: 1 an object that something refers to is gone, 2 the count of a
-- content, 3 why the instance that checked it last does not work on the collection.
CREATE TABLE IF NOT EXISTS {lethe}troubles (
    collection varbinary(255)  NOT NULL,
    kind       smallint NOT NULL CHECK (kind IN (1, 2, 3)),
    "key"      varbinary(2800) NOT NULL,
    at         bigint   NOT NULL,
    why        longtext,
    PRIMARY KEY (collection, kind, "key")
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- Prefixes of buckets whose objects belong to this database, with their epochs
-- (adopt.Pairing).
CREATE TABLE IF NOT EXISTS {lethe}pairings (
    place      varbinary(2800) PRIMARY KEY,
    number     bigint   NOT NULL,
    nonce      longtext NOT NULL,
    next_nonce longtext NOT NULL,  -- of the epoch after it; empty if none is begun
    at         bigint   NOT NULL,
    marks      longtext NOT NULL   -- of the database itself then, one a line
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;

-- What instances work on, for each of their collections that reclaims: by it descriptions
-- of this database find each other.
CREATE TABLE IF NOT EXISTS {lethe}at_work (
    worker     varbinary(512) NOT NULL,
    collection varbinary(255) NOT NULL,
    place      longblob NOT NULL,  -- bucket and prefix; empty: none
    quarantine longblob NOT NULL,  -- the same of its quarantine
    row_table  longblob NOT NULL,  -- from which it takes rows
    at         bigint   NOT NULL,
    alive      bigint   NOT NULL,  -- until then the instance counts as running
    PRIMARY KEY (worker, collection)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- How many rows named a folder, or a key, at the last run.
CREATE TABLE IF NOT EXISTS {lethe}live_rows (
    collection varbinary(255) PRIMARY KEY,
    live       bigint NOT NULL,
    at         bigint NOT NULL
) ENGINE = InnoDB;

-- What each transaction took away, a JSON list of keys a row, until it is sealed.
CREATE TABLE IF NOT EXISTS {lethe}receipts (
    id         bigint AUTO_INCREMENT PRIMARY KEY,
    collection varbinary(255) NOT NULL,
    kind       varbinary(255) NOT NULL,  -- rows, objects and so on
    at         bigint   NOT NULL,
    "keys"   longtext NOT NULL,
    KEY receipts_at (at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The chain of receipts, as that of a store (internal/receiptdb).
CREATE TABLE IF NOT EXISTS {lethe}receipt_seals (
    seq       bigint   PRIMARY KEY,
    first_no  bigint   NOT NULL,
    n         bigint   NOT NULL,
    since_at  bigint   NOT NULL,
    until_at  bigint   NOT NULL,
    sealed_at bigint   NOT NULL,
    digest    varbinary(255) NOT NULL,
    prev      varbinary(255) NOT NULL,
    hash      varbinary(255) NOT NULL,
    dropped   smallint NOT NULL  -- 1: the anchor, its pages are past their time
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS {lethe}receipt_pages (
    seq    bigint NOT NULL,
    lowest bigint NOT NULL,
    page   bigint NOT NULL,
    n      bigint NOT NULL,
    body   longblob NOT NULL,
    PRIMARY KEY (seq, lowest, page)
) ENGINE = InnoDB;

-- Runs of routines: what is in progress, and what succeeded last.
CREATE TABLE IF NOT EXISTS {lethe}runs (
    id          varbinary(255)  PRIMARY KEY,
    routine     varbinary(1000) NOT NULL,
    worker      varbinary(1000) NOT NULL,
    started_at  bigint   NOT NULL,
    beat_at     bigint   NOT NULL,
    finished_at bigint   NOT NULL DEFAULT 0,
    outcome     longtext NOT NULL DEFAULT (''),
    counts      longtext NOT NULL DEFAULT ('{}'),
    solo        smallint NOT NULL DEFAULT 0,
    alone       varbinary(1000) GENERATED ALWAYS AS (CASE WHEN solo = 1 AND finished_at = 0 THEN routine END) VIRTUAL,
    KEY runs_by_routine (routine, started_at),
    UNIQUE KEY runs_solo (alone)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;
