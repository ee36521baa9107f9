CREATE TRIGGER {trigger counts} AFTER UPDATE ON {contents qualified} FOR EACH ROW
BEGIN
    -- lethe {version}
    DECLARE lethe_there BOOLEAN;
    DECLARE CONTINUE HANDLER FOR 1062 SET lethe_there = TRUE;
    IF NEW.{count} > coalesce(OLD.{count}, 0) THEN
        {look old}
    END IF;
END;
