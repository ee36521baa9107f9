-- Keeps new references from contents of {collection} that are being deleted: the
-- statement fails, and the application rolls back, uploads again and repeats its
-- transaction. SQLite has no functions of its own: there is no take and no release.
DROP TRIGGER IF EXISTS {trigger contents};
CREATE TRIGGER {trigger contents} AFTER INSERT ON {contents}
WHEN EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND {of new})
BEGIN
    -- lethe {version}
    {look at new}
END;
DROP TRIGGER IF EXISTS {trigger objects};
CREATE TRIGGER {trigger objects} AFTER UPDATE ON {contents}
WHEN {new object} IS NOT {old object} AND EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND {of new})
BEGIN
    {look at new}
END;
DROP TRIGGER IF EXISTS {trigger counts};
{count trigger}
DROP TRIGGER IF EXISTS {trigger rows};
CREATE TRIGGER {trigger rows} AFTER INSERT ON {rows}
WHEN EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND content = {new content} AND {stands})
BEGIN
    SELECT RAISE(ABORT, 'lethe: this content is being deleted: upload it again and repeat the transaction');
END;
-- Of every column: its value may be generated from another.
DROP TRIGGER IF EXISTS {trigger renamed};
CREATE TRIGGER {trigger renamed} AFTER UPDATE ON {rows}
WHEN {new content} IS NOT {old content} AND EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND content = {new content} AND {stands})
BEGIN
    SELECT RAISE(ABORT, 'lethe: this content is being deleted: upload it again and repeat the transaction');
END;
