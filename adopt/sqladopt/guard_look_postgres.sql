-- Reports whether an object of {collection} may be gone any time.
CREATE OR REPLACE FUNCTION {lethe}{guard look}(key text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off AS $guard$
DECLARE
    mark record;
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
    SELECT d.state, d.due_at INTO mark FROM {lethe}condemned d
        WHERE d.collection = {collection} AND d.content = key COLLATE "C";
    RETURN coalesce(mark.state = 2 OR mark.state = 3
        AND mark.due_at > CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint), FALSE);
END $guard$;
