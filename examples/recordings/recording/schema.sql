-- The tables of the recordings. "recordings migrate" applies them; doing so again
-- changes nothing.

CREATE TABLE IF NOT EXISTS sequences (
    name       text        PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A topic of a sequence. Its files lie below sequences/SEQUENCE/topics/NAME/.
CREATE TABLE IF NOT EXISTS topics (
    sequence   text        NOT NULL REFERENCES sequences ON DELETE CASCADE,
    name       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (sequence, name)
);

-- What was recorded, in order.
CREATE TABLE IF NOT EXISTS files (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sequence text   NOT NULL,
    topic    text   NOT NULL,
    file     text   NOT NULL,  -- its name in the folder of the topic
    size     bigint NOT NULL,  -- bytes
    FOREIGN KEY (sequence, topic) REFERENCES topics ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS files_by_topic ON files (sequence, topic, id);
