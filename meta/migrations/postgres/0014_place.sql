-- Where the ledger lies, by what a copy of it does not share: found anew at every
-- start, so that a copy is told from the original before it deletes anything.
ALTER TABLE store ADD COLUMN place TEXT NOT NULL DEFAULT '';
