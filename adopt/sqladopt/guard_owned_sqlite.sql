-- Keeps objects that are being deleted from being named by a row of {collection}: the
-- statement fails, and the application rolls back, uploads again and repeats its
-- transaction.
DROP TRIGGER IF EXISTS {trigger rows};
CREATE TRIGGER {trigger rows} AFTER INSERT ON {rows}
WHEN EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND content IN ({new objects}) AND {stands})
BEGIN
    -- lethe {version}
    SELECT RAISE(ABORT, 'lethe: this object is being deleted: upload it again and repeat the transaction');
END;
DROP TRIGGER IF EXISTS {trigger renamed};
CREATE TRIGGER {trigger renamed} AFTER UPDATE ON {rows}
WHEN EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND content IN ({new objects})
    AND NOT coalesce(content IN ({old objects}), 0) AND {stands})
BEGIN
    SELECT RAISE(ABORT, 'lethe: this object is being deleted: upload it again and repeat the transaction');
END;
DROP TRIGGER IF EXISTS {trigger nests};
DROP TRIGGER IF EXISTS {trigger moved};
{refuse folders}
-- Write down what a row leaves behind that goes, by whatever way, or that names another
-- object. Whoever looks at one that a row still names passes it over.
DROP TRIGGER IF EXISTS {trigger left};
CREATE TRIGGER {trigger left} AFTER DELETE ON {rows}
BEGIN
{leave of OLD}
END;
DROP TRIGGER IF EXISTS {trigger changed};
CREATE TRIGGER {trigger changed} AFTER UPDATE ON {rows}
BEGIN
{leave of OLD without NEW}
END;
-- OR REPLACE removes a row without a word to the trigger above.
DROP TRIGGER IF EXISTS {trigger replaced};
CREATE TRIGGER {trigger replaced} BEFORE INSERT ON {rows}
WHEN EXISTS (SELECT 1 FROM {rows} r WHERE r.{key} = NEW.{key})
BEGIN
{leave of replaced}
END;
DROP TRIGGER IF EXISTS {trigger displaced};
CREATE TRIGGER {trigger displaced} BEFORE UPDATE ON {rows}
WHEN NEW.{key} IS NOT OLD.{key} AND EXISTS (SELECT 1 FROM {rows} r WHERE r.{key} = NEW.{key})
BEGIN
{leave of replaced}
END;
