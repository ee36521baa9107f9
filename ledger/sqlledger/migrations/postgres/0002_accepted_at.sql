-- When a person last gave a backend to this ledger: a delete that was sent before may still land for a while.
ALTER TABLE backends ADD COLUMN accepted_at BIGINT NOT NULL DEFAULT 0;
