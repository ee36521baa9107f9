-- Keeps new references from contents of {collection} that are being deleted. To run this
-- with a client, --comments: SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES',
-- and another DELIMITER.
LOCK TABLES {contents} WRITE, {rows} WRITE, {lethe}guards WRITE;
DROP TRIGGER IF EXISTS {trigger contents};
-- After the row is there: the database may have numbered it, or a trigger of the application
-- changed it.
CREATE TRIGGER {trigger contents} AFTER INSERT ON {contents qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    {look at object}
END;
DROP TRIGGER IF EXISTS {trigger objects};
CREATE TRIGGER {trigger objects} AFTER UPDATE ON {contents qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    IF NOT ({new object} <=> {old object}) THEN
        {look at object}
    END IF;
END;
-- Before the row is there, and so before the check of a foreign key, which would share the
-- content's lock first, and has an error of its own for a content that is gone. Being the last
-- such trigger, it sees what those of the application have set. A column that is generated from
-- what they set is seen after the row is there.
DROP TRIGGER IF EXISTS {trigger rows};
CREATE TRIGGER {trigger rows} {when} INSERT ON {rows qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE lethe_named VARBINARY(2800);
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    IF NEW.{row content} IS NOT NULL THEN
        -- The key as the row of the content has it: a collation may take others for equal.
        SELECT coalesce(max({c key}), {named}) INTO lethe_named FROM {contents} c WHERE c.{ckey} = NEW.{row content} FOR UPDATE;
        {look named}
    END IF;
END;
DROP TRIGGER IF EXISTS {trigger named};
CREATE TRIGGER {trigger named} {when} UPDATE ON {rows qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE lethe_named VARBINARY(2800);
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    IF NEW.{row content} IS NOT NULL AND NOT (BINARY NEW.{row content} <=> BINARY OLD.{row content}) THEN
        SELECT coalesce(max({c key}), {named}) INTO lethe_named FROM {contents} c WHERE c.{ckey} = NEW.{row content} FOR UPDATE;
        {look named}
    END IF;
END;
DROP TRIGGER IF EXISTS {trigger counts};
{counts}
INSERT INTO {lethe}guards (collection, version) VALUES ({collection}, {version}) ON DUPLICATE KEY UPDATE version = VALUES(version);
UNLOCK TABLES;
{functions}
