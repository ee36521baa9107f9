-- Keeps objects that are being deleted from being named by a row of {collection}, and
-- writes down which a row leaves behind. To run this with a client, --comments: SET SESSION
-- sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES', and another DELIMITER.
LOCK TABLES {rows} WRITE, {lethe}guards WRITE;
DROP TRIGGER IF EXISTS {trigger rows};
CREATE TRIGGER {trigger rows} AFTER INSERT ON {rows qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    {refuse folders}{look at new}
END;
DROP TRIGGER IF EXISTS {trigger named};
CREATE TRIGGER {trigger named} AFTER UPDATE ON {rows qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    {refuse folders}{look at changed}
END;
DROP TRIGGER IF EXISTS {trigger left};
CREATE TRIGGER {trigger left} AFTER DELETE ON {rows qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    {leave old}
END;
DROP TRIGGER IF EXISTS {trigger renamed};
CREATE TRIGGER {trigger renamed} AFTER UPDATE ON {rows qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    {leave changed}
END;
INSERT INTO {lethe}guards (collection, version) VALUES ({collection}, {version}) ON DUPLICATE KEY UPDATE version = VALUES(version);
UNLOCK TABLES;
