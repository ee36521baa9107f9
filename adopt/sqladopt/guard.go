package sqladopt

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
)

// guardSQL installs what keeps new references from contents that are condemned.
// Transactions of the application that try get 40001 (serialization failure): they
// repeat what they did, upload included.
//
//go:embed guard_postgres.sql
var guardSQL string

// guardLookSQL is what the guards have in common.
//
//go:embed guard_look_postgres.sql
var guardLookSQL string

// countTrigger lets counts go down without a call of the function. take and release are
// for applications that would rather call than count.
const countTrigger = `-- Counts a reference to a content, and reports whether there is one: if not, upload it
-- and insert it. 40001: it is being deleted.
CREATE OR REPLACE FUNCTION {lethe}{take}({ckey type}) RETURNS boolean LANGUAGE plpgsql AS $take$
BEGIN
    UPDATE {contents qualified} SET {count} = coalesce({count}, 0) + 1 WHERE {ckey} = $1;
    RETURN FOUND;
END $take$;

-- Takes a reference away, and reports whether there was one.
CREATE OR REPLACE FUNCTION {lethe}{release}({ckey type}) RETURNS boolean LANGUAGE plpgsql AS $release$
BEGIN
    UPDATE {contents qualified} SET {count} = {count} - 1 WHERE {ckey} = $1 AND {count} > 0;
    RETURN FOUND;
END $release$;

CREATE TRIGGER {trigger counts} BEFORE UPDATE OF {count} ON {contents}
    FOR EACH ROW WHEN (NEW.{count} > coalesce(OLD.{count}, 0)) EXECUTE FUNCTION {lethe}{guard contents}({version});`

const unguardSQL = `DROP TRIGGER IF EXISTS {trigger contents} ON {contents};
DROP TRIGGER IF EXISTS {trigger counts} ON {contents};
DROP TRIGGER IF EXISTS {trigger rows} ON {rows};
DROP FUNCTION IF EXISTS {lethe}{take};
DROP FUNCTION IF EXISTS {lethe}{release};
DROP FUNCTION IF EXISTS {lethe}{guard contents}();
DROP FUNCTION IF EXISTS {lethe}{guard rows}();
DROP FUNCTION IF EXISTS {lethe}{guard look}(text);`

// triggers are the guard's, by their names.
func (c *Collection) triggers() []string {
	if c.c.Contents == nil {
		return []string{"lethe_" + c.name + "_rows", "lethe_" + c.name + "_left"}
	}
	names := []string{"lethe_" + c.name + "_contents", "lethe_" + c.name + "_rows"}
	if c.c.Contents.Count != "" {
		names = append(names, "lethe_"+c.name+"_counts")
	}
	return names
}

// guardText fills in the words of the guard's statements.
func (c *Collection) guardText(text, version string) string {
	counts := ""
	if c.c.Contents != nil && c.c.Contents.Count != "" {
		counts = countTrigger
	}
	text = strings.Replace(text, "{count trigger}", counts, 1)
	return c.runner.Dialect.Expand(strings.NewReplacer(
		"{collection}", literal(c.name), "{version}", literal(version),
		"{content name}", ident(c.c.Rows.Content),
		"{trigger contents}", ident("lethe_"+c.name+"_contents"), "{trigger rows}", ident("lethe_"+c.name+"_rows"),
		"{trigger counts}", ident("lethe_"+c.name+"_counts"),
		"{guard contents}", ident("guard_"+c.name+"_contents"), "{guard rows}", ident("guard_"+c.name+"_rows"),
		"{guard look}", ident("guard_"+c.name+"_look"),
		"{take}", ident("take_"+c.name), "{release}", ident("release_"+c.name),
		"{trigger left}", ident("lethe_"+c.name+"_left"), "{guard left}", ident("guard_"+c.name+"_left"),
	).Replace(text))
}

// GuardSQL returns what InstallGuard runs.
func (c *Collection) GuardSQL() string { return c.guardText(c.guards(), c.guardVersion()) }

// guards are the statements that install the collection's guard.
func (c *Collection) guards() string {
	if c.c.Contents == nil {
		return guardLookSQL + guardOwnedSQL
	}
	return guardLookSQL + guardSQL
}

// guardVersion tells a guard from those of other descriptions, and of other versions
// of Lethe; triggers carry it.
func (c *Collection) guardVersion() string {
	sum := sha256.Sum256([]byte(c.guardText(c.guards(), "")))
	return hex.EncodeToString(sum[:8])
}

// InstallGuard installs the triggers, or those of this description in the place of
// others. The user has to own the tables.
func (c *Collection) InstallGuard(ctx context.Context) error {
	return c.script(ctx, "install the guard", func(t *tx) error {
		_, err := t.s.Simple(t.ctx, c.GuardSQL())
		return err
	})
}

const (
	// lockGuarded waits for marks under way, and keeps others away: Mark looks at both
	// tables before it looks for the guard.
	lockGuarded = `LOCK TABLE {guarded} IN ACCESS EXCLUSIVE MODE`
	standing    = `SELECT count(*), coalesce(max(CASE WHEN d.state = 3 THEN d.due_at ELSE 0 END), 0) FROM {lethe}condemned d
		WHERE d.collection = ?1 AND d.state IN (2, 3) AND NOT (d.state = 3 AND d.due_at <= ?2)`
)

// RemoveGuard removes the triggers. It refuses while objects may yet be deleted: a
// row could name one of them.
func (c *Collection) RemoveGuard(ctx context.Context) error {
	return c.script(ctx, "remove the guard", func(t *tx) error {
		if _, err := t.exec(lockGuarded); err != nil {
			return err
		}
		n, until, err := c.standing(t)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%d contents of %s are being deleted, and the guard keeps references from them: let \"lethe adopt run\" end them, and try again%s",
				n, c.name, after(until))
		}
		text := unguardSQL
		if c.c.Contents == nil {
			text = unguardOwnedSQL
		}
		_, err = t.s.Simple(t.ctx, c.guardText(text, ""))
		return err
	})
}

// standing counts the marks that are not over, and tells when the last of those ends
// whose end is known.
func (c *Collection) standing(t *tx) (n int, until lethe.Time, err error) {
	var installed bool
	if err := t.row("SELECT to_regclass(?1) IS NOT NULL", ident(c.db.o.Schema)+".condemned").Scan(&installed); err != nil || !installed {
		return 0, 0, err
	}
	err = t.row(standing, c.name, t.now).Scan(&n, &until)
	return n, until, err
}

func after(until lethe.Time) string {
	if until == 0 {
		return ""
	}
	return " after " + until.String()
}

func (c *Collection) script(ctx context.Context, what string, do func(*tx) error) error {
	if !c.c.HasObjects() {
		return fmt.Errorf("collection %s has no objects to guard", c.name)
	}
	return c.write(ctx, what, do)
}

const guardTriggers = `SELECT count(*) FROM pg_trigger WHERE tgname IN (SELECT id FROM {ids 1}) AND tgenabled IN ('O', 'A')
	AND tgrelid IN (to_regclass(?2), to_regclass(nullif(?3, ''))) AND tgargs = convert_to(?4, 'UTF8') || '\x00'::bytea`

// Guarded reports whether the triggers of this description are there and enabled.
func (c *Collection) Guarded(ctx context.Context) (yes bool, err error) {
	if !c.c.HasObjects() {
		return false, nil
	}
	err = c.read(ctx, "look for the guard", func(t *tx) error {
		yes, err = c.guarded(t)
		return err
	})
	return yes, err
}

func (c *Collection) guarded(t *tx) (bool, error) {
	want := c.triggers()
	var n int
	contents := ""
	if c.c.Contents != nil {
		contents = table(c.c.Contents.Table)
	}
	err := t.row(guardTriggers, asJSON(want), table(c.c.Rows.Table), contents, c.guardVersion()).Scan(&n)
	return n == len(want), err
}
