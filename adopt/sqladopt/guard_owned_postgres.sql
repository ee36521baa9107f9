-- Keeps objects that are being deleted from being named by a row of {collection}.
CREATE OR REPLACE FUNCTION {lethe}{guard rows}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET bytea_output = hex AS $guard$
DECLARE
    key text;
    had text[];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        had := ARRAY[{old objects}];
    END IF;{refuse folders}
    FOREACH key IN ARRAY ARRAY[{new objects}] LOOP
        -- A longer text is no object's key, and does not fit the index of marks.
        IF octet_length(key) <= 1024 AND NOT coalesce(key = ANY (array_remove(had, NULL)), FALSE) THEN
            -- Waits for whoever is about to mark it, and keeps others from it until the commit.
            PERFORM pg_advisory_xact_lock_shared({lock of key});
            IF {lethe}{guard look}(key) THEN
                RAISE EXCEPTION 'object % is being deleted: upload it again and repeat the transaction', key USING ERRCODE = '40001';
            END IF;
        END IF;
    END LOOP;
    RETURN NULL;
END $guard$;

-- Writes down what a row leaves behind that goes, by whatever way, or that names
-- another object.
CREATE OR REPLACE FUNCTION {lethe}{guard left}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET bytea_output = hex AS $guard$
DECLARE
    key text;
    kept text[];
BEGIN
    IF TG_OP = 'UPDATE' THEN
        kept := ARRAY[{new objects}];
    END IF;
    FOREACH key IN ARRAY ARRAY[{old objects}] LOOP
        IF octet_length(key) <= 1024 AND NOT coalesce(key = ANY (array_remove(kept, NULL)), FALSE) THEN
            INSERT INTO {lethe}condemned AS d (collection, content, object, state, due_at)
            VALUES ({collection}, key, key, 1, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint) + {grace})
            -- Whoever looks at it now passes it over: this row is still there for them.
            ON CONFLICT (collection, content) DO UPDATE SET state = 1, due_at = excluded.due_at, attempts = 0, unseen_until = 0
            WHERE d.state = 1 OR d.state = 3 AND d.due_at <= excluded.due_at - {grace};
        END IF;
    END LOOP;
    RETURN NULL;
END $guard$;

-- After the row is written: its keys are then those that generated columns and triggers
-- of the application have made, whatever columns the statement names.
DROP TRIGGER IF EXISTS {trigger rows} ON {rows};
CREATE TRIGGER {trigger rows} AFTER INSERT OR UPDATE ON {rows}
    FOR EACH ROW EXECUTE FUNCTION {lethe}{guard rows}({version});
DROP TRIGGER IF EXISTS {trigger left} ON {rows};
CREATE TRIGGER {trigger left} AFTER DELETE OR UPDATE ON {rows}
    FOR EACH ROW EXECUTE FUNCTION {lethe}{guard left}({version});
