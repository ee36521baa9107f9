-- What a hold on the deletes of a backend is about, beside the reason, which is for
-- people to read; and of which reason it is: older instances change that alone, and
-- then nobody knows what it is about. What was held before is told by its words, once.
ALTER TABLE backends ADD COLUMN held_kind TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE backends ADD COLUMN held_of TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE backends SET held_of = held;
UPDATE backends SET held_kind = CASE
  WHEN held = '' THEN ''
  WHEN held = 'restored' THEN 'ledger'
  WHEN held LIKE 'the ledger lies in another place than it did%' THEN 'ledger'
  WHEN held LIKE '%this ledger is an older copy' THEN 'ledger'
  WHEN held LIKE '%one of them is a copy' THEN 'ledger'
  WHEN held LIKE 'the backend carries no epoch%' THEN 'absence'
  WHEN held LIKE 'the backend is at epoch %: the backend is an older copy' THEN 'backend'
  WHEN held LIKE '%: epoch object % is not readable (%' THEN 'backend'
  ELSE 'person' END;
