-- Under which epoch a person last gave a backend to this ledger, and whether the ledger
-- that is held has told the one that goes on with the backend (docs/protocol.md, rule 13).
ALTER TABLE backends ADD COLUMN accepted BIGINT NOT NULL DEFAULT 0;
ALTER TABLE backends ADD COLUMN contested SMALLINT NOT NULL DEFAULT 0;
