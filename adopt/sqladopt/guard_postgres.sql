-- Keeps new references from contents of {collection} that are being deleted.
CREATE OR REPLACE FUNCTION {lethe}{guard contents}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET bytea_output = hex AS $guard$
BEGIN
    -- Nobody else can see and lock a new content, or one with a new key, yet. Its mark is locked: whoever is about to
    -- delete the object again is waited for, and kept from it until the commit. Where there is
    -- a content, only that is locked, as Settle locks it before its mark.
    IF TG_OP = 'INSERT' OR NEW.{ckey} IS DISTINCT FROM OLD.{ckey} THEN
        PERFORM 1 FROM {lethe}condemned d WHERE d.collection = {collection} AND d.content = CAST(NEW.{ckey} AS TEXT) COLLATE "C"
            AND d.state = 1 AND d.attempts > 0 FOR SHARE;
    END IF;
    IF {lethe}{guard look}(CAST(NEW.{ckey} AS TEXT)) THEN
        RAISE EXCEPTION 'content % is being deleted: upload it again and repeat the transaction', NEW.{ckey} USING ERRCODE = '40001';
    END IF;
    RETURN NEW;
END $guard$;

CREATE OR REPLACE FUNCTION {lethe}{guard rows}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET bytea_output = hex AS $guard$
BEGIN
    -- Waits for whoever is about to mark it, and keeps others from it until the commit.
    IF current_setting('transaction_isolation') LIKE 'read %' THEN
        PERFORM 1 FROM {contents qualified} c WHERE c.{ckey} = NEW.{content name} FOR KEY SHARE;
    ELSE
        PERFORM 1 FROM {contents qualified} c WHERE c.{ckey} = NEW.{content name} FOR NO KEY UPDATE;
    END IF;
    IF {lethe}{guard look}(CAST(NEW.{content name} AS TEXT)) THEN
        RAISE EXCEPTION 'content % is being deleted: upload it again and repeat the transaction', NEW.{content name} USING ERRCODE = '40001';
    END IF;
    RETURN NULL;
END $guard$;

DROP TRIGGER IF EXISTS {trigger contents} ON {contents};
-- After the row is there: it may have waited for whoever marked and removed another.
CREATE TRIGGER {trigger contents} AFTER INSERT ON {contents}
    FOR EACH ROW EXECUTE FUNCTION {lethe}{guard contents}({version});
DROP TRIGGER IF EXISTS {trigger counts} ON {contents};
{count trigger}
-- After the row is written: it then names what triggers of the application have set. By their
-- names they come before the check of a foreign key, which has an error of its own for a
-- content that is gone.
DROP TRIGGER IF EXISTS {trigger first rows} ON {rows};
CREATE TRIGGER {trigger first rows} AFTER INSERT ON {rows}
    FOR EACH ROW WHEN (NEW.{content name} IS NOT NULL) EXECUTE FUNCTION {lethe}{guard rows}({version});
DROP TRIGGER IF EXISTS {trigger first named} ON {rows};
CREATE TRIGGER {trigger first named} AFTER UPDATE ON {rows}
    FOR EACH ROW WHEN (NEW.{content name} IS NOT NULL AND NEW.{content name} IS DISTINCT FROM OLD.{content name})
    EXECUTE FUNCTION {lethe}{guard rows}({version});
