package sqladopt

import (
	_ "embed"
	"strings"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// guardSQL refuses new references to condemned contents. Such transactions of
// the application get 40001 (serialization failure): they repeat their work,
// upload included.
//
//go:embed guard_postgres.sql
var guardSQL string

// guardLookSQL is common to the guards.
//
//go:embed guard_look_postgres.sql
var guardLookSQL string

// guardObjectsSQL is for contents whose keys are not those of their objects, keyTrigger for the
// others.
//
//go:embed guard_objects_postgres.sql
var guardObjectsSQL string

const keyTrigger = `
DROP TRIGGER IF EXISTS {trigger objects} ON {contents};
CREATE TRIGGER {trigger objects} AFTER UPDATE ON {contents}
    FOR EACH ROW WHEN (NEW.{ckey} IS DISTINCT FROM OLD.{ckey}) EXECUTE FUNCTION {lethe}{guard contents}({version});`

// countTrigger decrements counts without a call of the function. take and
// release are for applications that prefer calls.
const countTrigger = `-- Counts a reference to a content, and reports whether there is one: if not, upload it
-- and insert it. 40001: it is being deleted.
CREATE OR REPLACE FUNCTION {lethe}{take}({ckey base}) RETURNS boolean LANGUAGE plpgsql AS $take$
BEGIN
    UPDATE {contents qualified} SET {count} = coalesce({count}, 0) + 1 WHERE {ckey} = $1;
    RETURN FOUND;
END $take$;

-- Takes a reference away, and reports whether there was one.
CREATE OR REPLACE FUNCTION {lethe}{release}({ckey base}) RETURNS boolean LANGUAGE plpgsql AS $release$
BEGIN
    UPDATE {contents qualified} SET {count} = {count} - 1 WHERE {ckey} = $1 AND {count} > 0;
    RETURN FOUND;
END $release$;

CREATE TRIGGER {trigger counts} AFTER UPDATE ON {contents}
    FOR EACH ROW WHEN (NEW.{count} > coalesce(OLD.{count}, 0)) EXECUTE FUNCTION {lethe}{guard contents}({version});`

// guardOwnedSQL is the guard of rows that own objects: it refuses references to
// keys while their objects are deleted, and records those that a row leaves
// behind, whatever removes it.
//
//go:embed guard_owned_postgres.sql
var guardOwnedSQL string

// refuseFolders refuses rows whose folder would be inside another row's.
const refuseFolders = `
    IF {new nests} THEN
        RAISE EXCEPTION 'lethe: a row of % owns a folder: its name has no slash', TG_TABLE_NAME USING ERRCODE = '23514';
    END IF;`

// firstTrigger returns the name of a trigger that is fired before those of foreign keys, in
// the order of bytes: RI_ConstraintTrigger.
func firstTrigger(collection, on string) string { return "Lethe_" + collection + "_" + on }

func (p postgres) guard(c *Collection) string {
	if c.c.Contents == nil {
		return guardLookSQL + strings.Replace(guardOwnedSQL, "{refuse folders}", c.ifFolders(refuseFolders), 1)
	}
	counts, objects := "", keyTrigger
	if c.c.Contents.Count != "" {
		counts = countTrigger
	}
	if !c.keyed() {
		objects = strings.Replace(guardObjectsSQL, "{object index name}", sqldb.Literal(p.schema()+".condemned_object"), 1)
	}
	return guardLookSQL + strings.NewReplacer("{count trigger}", counts, "{trigger first rows}", sqldb.Quoted(firstTrigger(c.name, "rows")),
		"{trigger first named}", sqldb.Quoted(firstTrigger(c.name, "named"))).Replace(guardSQL) + objects
}

// seal waits for running Marks, and blocks new ones: Mark reads both tables
// before it looks for the guard.
func (postgres) seal(t *tx, c *Collection) error {
	guarded := table(c.c.Rows.Table)
	if c.c.Contents != nil {
		guarded = table(c.c.Contents.Table) + ", " + guarded
	}
	_, err := t.exec("LOCK TABLE " + guarded + " IN ACCESS EXCLUSIVE MODE")
	return err
}

// installed finds them by the functions of the schema, which triggers of other
// installations do not call. Those of partitions belong to the whole table's.
func (p postgres) installed() string {
	return strings.ReplaceAll(`SELECT t.tgname, '"' || t.tgname || '"', x.place, 'DROP TRIGGER ' || quote_ident(t.tgname) || ' ON ' || x.place
		FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		CROSS JOIN LATERAL (SELECT quote_ident(n.nspname) || '.' || quote_ident(k.relname) AS place
			FROM pg_class k JOIN pg_namespace n ON n.oid = k.relnamespace WHERE k.oid = t.tgrelid) x
		WHERE p.pronamespace = to_regnamespace({schema}) AND t.tgparentid = 0 AND t.tgname ~ '^[Ll]ethe_' AND p.proname LIKE 'guard\_%'
	UNION ALL SELECT p.proname, '"' || p.proname || '"(' || pg_get_function_identity_arguments(p.oid) || ')', '', 'DROP FUNCTION ' || CAST(CAST(p.oid AS regprocedure) AS TEXT)
		FROM pg_proc p WHERE p.pronamespace = to_regnamespace({schema}) AND p.proname ~ '^(guard|take|release)_'
		ORDER BY 1`, "{schema}", sqldb.Literal(p.schema()))
}

// guardTriggers counts the enabled triggers. Those of each partition have to be enabled as well,
// and row-level security must not hide marks or contents from the owner of the functions, which
// would fail.
const guardTriggers = `SELECT count(*) FROM pg_trigger t WHERE t.tgname IN (SELECT id FROM {ids 1}) AND t.tgenabled IN ('O', 'A')
	AND t.tgrelid IN (to_regclass(?2), to_regclass(nullif(?3, ''))) AND t.tgargs = convert_to(?4, 'UTF8') || '\x00'::bytea
	AND NOT EXISTS (SELECT 1 FROM pg_partition_tree(t.tgrelid) p WHERE NOT EXISTS (
		SELECT 1 FROM pg_trigger k WHERE k.tgrelid = p.relid AND k.tgname = t.tgname AND k.tgenabled IN ('O', 'A') AND k.tgargs = t.tgargs))
	AND NOT EXISTS (SELECT 1 FROM pg_proc f JOIN pg_roles o ON o.oid = f.proowner
		JOIN pg_class k ON k.oid IN (to_regclass(nullif(?3, '')), to_regclass(?5)) AND k.relrowsecurity
		WHERE (f.oid = t.tgfoid OR f.oid = to_regprocedure(?6)) AND NOT o.rolsuper AND NOT o.rolbypassrls
			AND (k.relforcerowsecurity OR NOT pg_has_role(o.oid, k.relowner, 'USAGE')))`

func (postgres) endsContents() bool { return true }

// refusing finds foreign keys whose check of deletes is enabled. To change that, the tables
// have to be locked, which the transaction has touched. A foreign key does not see the rows of
// tables that inherit from one.
const refusing = `SELECT count(*) > 0 FROM pg_constraint k JOIN pg_trigger t ON t.tgconstraint = k.oid AND t.tgrelid = k.confrelid
		JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class r ON r.oid = k.confrelid
	WHERE k.contype = 'f' AND f.relkind = 'r' AND r.relkind = 'r' AND k.confdeltype IN ('a', 'r') AND NOT k.condeferred
		AND NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent IN (k.conrelid, k.confrelid))
		AND k.conrelid = to_regclass(?1) AND k.confrelid = to_regclass(?2)
		AND k.conkey = ARRAY(SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = k.conrelid AND a.attname = ?3)
		AND k.confkey = ARRAY(SELECT a.attnum FROM pg_attribute a WHERE a.attrelid = k.confrelid AND a.attname = ?4)
		AND t.tgtype & 8 <> 0 AND (t.tgenabled = 'A' OR t.tgenabled = 'O' AND current_setting('session_replication_role') <> 'replica')`

func (postgres) refusing(t *tx, c *Collection) (yes bool, err error) {
	err = t.row(refusing, table(c.c.Rows.Table), table(c.c.Contents.Table), c.c.Rows.Content, c.c.Contents.Key).Scan(&yes)
	return yes, err
}

func (p postgres) guarded(t *tx, c *Collection) (bool, error) {
	own := func(on string) string { return "lethe_" + c.name + "_" + on }
	want, contents := []string{own("rows"), own("left")}, ""
	if c.c.Contents != nil {
		contents = table(c.c.Contents.Table)
		want = []string{own("contents"), own("objects"), firstTrigger(c.name, "rows"), firstTrigger(c.name, "named")}
		if c.c.Contents.Count != "" {
			want = append(want, own("counts"))
		}
	}
	var n int
	err := t.row(guardTriggers, sqldb.JSON(want), table(c.c.Rows.Table), contents, c.guardVersion(),
		p.schema()+".condemned", p.schema()+"."+sqldb.Quoted("guard_"+c.name+"_look")+"(text)").Scan(&n)
	return n == len(want), err
}
