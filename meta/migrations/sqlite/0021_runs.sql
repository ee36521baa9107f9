-- Runs are ordered by when they began, by the ledger's clock: ids are made by the
-- clocks of the instances, before their runs begin.
CREATE INDEX runs_begun ON runs (routine, started_at, id);
