-- Counts a reference to a content, and reports whether there is one: if not, upload it
-- and insert it. 1205, 40001: it is being deleted.
DROP FUNCTION IF EXISTS {lethe}{take};
CREATE FUNCTION {lethe}{take}(lethe_key {ckey type}) RETURNS BOOLEAN DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    UPDATE {contents} SET {count} = coalesce({count}, 0) + 1 WHERE {ckey} = lethe_key;
    RETURN ROW_COUNT() > 0;
END;
-- Takes a reference away, and reports whether there was one.
DROP FUNCTION IF EXISTS {lethe}{release};
CREATE FUNCTION {lethe}{release}(lethe_key {ckey type}) RETURNS BOOLEAN DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
    UPDATE {contents} SET {count} = {count} - 1 WHERE {ckey} = lethe_key AND {count} > 0;
    RETURN ROW_COUNT() > 0;
END;
