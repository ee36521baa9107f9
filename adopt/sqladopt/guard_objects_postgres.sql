-- Only this guard looks for marks by objects.
DO $index$ BEGIN
    IF to_regclass({object index name}) IS NULL THEN
        CREATE INDEX condemned_object ON {lethe}condemned (collection, substr(object, 1, 500));
    END IF;
END $index$;

-- Keeps an object that is being deleted from becoming another content's of {collection}.
CREATE OR REPLACE FUNCTION {lethe}{guard objects}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET bytea_output = hex AS $guard$
DECLARE
    name text := {new object};
BEGIN
    -- A transaction with one snapshot may not see the mark. It sees the content that went
    -- with it, and fails with 40001.
    IF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
        PERFORM 1 FROM {contents qualified} c WHERE {same object} AND c.{ckey} <> NEW.{ckey} FOR KEY SHARE;
    END IF;
    IF EXISTS (SELECT 1 FROM {lethe}condemned d WHERE d.collection = {collection} AND substr(d.object, 1, 500) = substr(name, 1, 500) AND d.object = name) THEN
        -- What waits has this object no more. Whoever is about to mark it is waited for.
        DELETE FROM {lethe}condemned d WHERE d.collection = {collection} AND substr(d.object, 1, 500) = substr(name, 1, 500) AND d.object = name AND d.state = 1;
        IF EXISTS (SELECT 1 FROM {lethe}condemned d WHERE d.collection = {collection} AND substr(d.object, 1, 500) = substr(name, 1, 500) AND d.object = name
            AND (d.state = 2 OR d.state = 3 AND d.due_at > CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint))) THEN
            RAISE EXCEPTION 'object % is being deleted: upload it again and repeat the transaction', name USING ERRCODE = '40001';
        END IF;
    END IF;
    RETURN NULL;
END $guard$;

DROP TRIGGER IF EXISTS {trigger contents} ON {contents};
CREATE TRIGGER {trigger contents} AFTER INSERT ON {contents}
    FOR EACH ROW EXECUTE FUNCTION {lethe}{guard objects}({version});
DROP TRIGGER IF EXISTS {trigger objects} ON {contents};
CREATE TRIGGER {trigger objects} AFTER UPDATE ON {contents}
    FOR EACH ROW WHEN ({new object} IS DISTINCT FROM {old object}) EXECUTE FUNCTION {lethe}{guard objects}({version});
