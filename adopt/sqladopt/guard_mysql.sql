-- Keeps new references from contents of {collection} that are being deleted. To run this
-- with a client: SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', and another DELIMITER.
LOCK TABLES {contents} WRITE, {rows} WRITE, {lethe}guards WRITE;
DROP TRIGGER IF EXISTS {trigger contents};
CREATE TRIGGER {trigger contents} BEFORE INSERT ON {contents} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    {look new}
    {look at object}
END;
DROP TRIGGER IF EXISTS {trigger objects};
{objects trigger}
DROP TRIGGER IF EXISTS {trigger rows};
CREATE TRIGGER {trigger rows} BEFORE INSERT ON {rows} FOR EACH ROW
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
CREATE TRIGGER {trigger named} BEFORE UPDATE ON {rows} FOR EACH ROW
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
