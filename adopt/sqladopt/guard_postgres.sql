-- Reports whether the object of a content of {collection} may be gone any time.
CREATE OR REPLACE FUNCTION {lethe}{guard look}(key text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $guard$
BEGIN
    -- A transaction with one snapshot does not see a mark that is younger. The unique
    -- index does: the insert fails with 40001.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        INSERT INTO {lethe}condemned (collection, content, object, state, due_at)
            VALUES ({collection}, key, '', 1, 0) ON CONFLICT (collection, content) DO NOTHING;
        IF FOUND THEN
            DELETE FROM {lethe}condemned d WHERE d.collection = {collection} AND d.content = key COLLATE "C";
            RETURN FALSE;
        END IF;
    END IF;
    RETURN EXISTS (SELECT 1 FROM {lethe}condemned d
        WHERE d.collection = {collection} AND d.content = key COLLATE "C" AND d.state IN (2, 3));
END $guard$;

-- Keep new references from such contents.
CREATE OR REPLACE FUNCTION {lethe}{guard contents}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET bytea_output = hex AS $guard$
BEGIN
    IF {lethe}{guard look}(CAST(NEW.{ckey} AS TEXT)) THEN
        RAISE EXCEPTION 'content % is being deleted: upload it again and repeat the transaction', NEW.{ckey} USING ERRCODE = '40001';
    END IF;
    RETURN NEW;
END $guard$;

CREATE OR REPLACE FUNCTION {lethe}{guard rows}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET bytea_output = hex AS $guard$
BEGIN
    -- Waits for whoever is about to mark it, and keeps others from it until the commit.
    PERFORM 1 FROM {contents qualified} c WHERE c.{ckey} = NEW.{content name} FOR KEY SHARE;
    IF {lethe}{guard look}(CAST(NEW.{content name} AS TEXT)) THEN
        RAISE EXCEPTION 'content % is being deleted: upload it again and repeat the transaction', NEW.{content name} USING ERRCODE = '40001';
    END IF;
    RETURN NEW;
END $guard$;

DROP TRIGGER IF EXISTS {trigger contents} ON {contents};
CREATE TRIGGER {trigger contents} BEFORE INSERT ON {contents}
    FOR EACH ROW EXECUTE FUNCTION {lethe}{guard contents}({version});
DROP TRIGGER IF EXISTS {trigger counts} ON {contents};
{count trigger}
DROP TRIGGER IF EXISTS {trigger rows} ON {rows};
CREATE TRIGGER {trigger rows} BEFORE INSERT OR UPDATE OF {content name} ON {rows}
    FOR EACH ROW WHEN (NEW.{content name} IS NOT NULL) EXECUTE FUNCTION {lethe}{guard rows}({version});
