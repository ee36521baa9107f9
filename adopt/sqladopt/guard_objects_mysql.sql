IF length({new object}) <= 1024 THEN -- others are never deleted
        SET lethe_there = FALSE;
        INSERT INTO {lethe}condemned (collection, content, object, state, due_at) VALUES ({collection}, {apart of object}, {new object}, 1, 0);
        IF NOT lethe_there THEN
            DELETE FROM {lethe}condemned WHERE collection = {collection} AND content = {apart of object};
        ELSE
            -- What waits has this object no more.
            DELETE FROM {lethe}condemned WHERE collection = {collection} AND object = {new object} AND state = 1;
            IF EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND object = {new object} AND {stands} LOCK IN SHARE MODE) THEN
                SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'the object is being deleted: roll back, upload it again and repeat the transaction';
            END IF;
        END IF;
    END IF;
