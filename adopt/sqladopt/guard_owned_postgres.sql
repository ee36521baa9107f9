-- Keeps objects that are being deleted from being named by a row of {collection}.
CREATE OR REPLACE FUNCTION {lethe}{guard rows}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET bytea_output = hex AS $guard$
DECLARE key text;
BEGIN
    FOREACH key IN ARRAY ARRAY[{new objects}] LOOP
        IF key IS NOT NULL THEN
            -- Waits for whoever is about to mark it, and keeps others from it until the commit.
            PERFORM pg_advisory_xact_lock_shared(hashtextextended(key, {seed}));
            IF {lethe}{guard look}(key) THEN
                RAISE EXCEPTION 'object % is being deleted: upload it again and repeat the transaction', key USING ERRCODE = '40001';
            END IF;
        END IF;
    END LOOP;
    RETURN NEW;
END $guard$;

-- Writes down what a row leaves behind that goes, by whatever way, or that names
-- another object.
CREATE OR REPLACE FUNCTION {lethe}{guard left}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET bytea_output = hex AS $guard$
DECLARE
    key text;
    kept text[];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        kept := ARRAY[{new objects}];
    END IF;
    FOREACH key IN ARRAY ARRAY[{old objects}] LOOP
        IF key IS NOT NULL AND NOT coalesce(key = ANY (array_remove(kept, NULL)), FALSE) THEN
            INSERT INTO {lethe}condemned (collection, content, object, state, due_at)
            VALUES ({collection}, key, key, 1, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) + {grace})
            ON CONFLICT (collection, content) DO NOTHING;
        END IF;
    END LOOP;
    RETURN NULL;
END $guard$;

DROP TRIGGER IF EXISTS {trigger rows} ON {rows};
CREATE TRIGGER {trigger rows} BEFORE INSERT OR UPDATE OF {object columns} ON {rows}
    FOR EACH ROW EXECUTE FUNCTION {lethe}{guard rows}({version});
DROP TRIGGER IF EXISTS {trigger left} ON {rows};
CREATE TRIGGER {trigger left} AFTER DELETE OR UPDATE OF {object columns} ON {rows}
    FOR EACH ROW EXECUTE FUNCTION {lethe}{guard left}({version});
