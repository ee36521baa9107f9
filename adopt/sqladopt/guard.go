package sqladopt

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
)

// guardSQL installs what keeps new references from contents that are condemned.
// Transactions of the application that try get 40001 (serialization failure): they
// repeat what they did, upload included.
//
//go:embed guard_postgres.sql
var guardSQL string

// countTrigger lets counts go down without a call of the function.
const countTrigger = `DROP TRIGGER IF EXISTS {trigger counts} ON {contents};
CREATE TRIGGER {trigger counts} BEFORE UPDATE OF {count} ON {contents}
    FOR EACH ROW WHEN (NEW.{count} > OLD.{count}) EXECUTE FUNCTION {lethe}{guard contents}();`

const unguardSQL = `DROP TRIGGER IF EXISTS {trigger contents} ON {contents};
DROP TRIGGER IF EXISTS {trigger counts} ON {contents};
DROP TRIGGER IF EXISTS {trigger rows} ON {rows};
DROP FUNCTION IF EXISTS {lethe}{guard contents}();
DROP FUNCTION IF EXISTS {lethe}{guard rows}();`

// triggers are the guard's, by their names.
func (c *Collection) triggers() []string {
	names := []string{"lethe_" + c.name + "_contents", "lethe_" + c.name + "_rows"}
	if c.c.Contents.Count != "" {
		names = append(names, "lethe_"+c.name+"_counts")
	}
	return names
}

// guardText fills in the words of the guard's statements.
func (c *Collection) guardText(text string) string {
	counts := ""
	if c.c.Contents.Count != "" {
		counts = countTrigger
	}
	text = strings.Replace(text, "{count trigger}", counts, 1)
	return c.runner.Dialect.Expand(strings.NewReplacer(
		"{collection}", literal(c.name),
		"{content name}", ident(c.c.Rows.Content),
		"{trigger contents}", ident("lethe_"+c.name+"_contents"), "{trigger rows}", ident("lethe_"+c.name+"_rows"),
		"{trigger counts}", ident("lethe_"+c.name+"_counts"),
		"{guard contents}", ident("guard_"+c.name+"_contents"), "{guard rows}", ident("guard_"+c.name+"_rows"),
	).Replace(text))
}

// GuardSQL returns what InstallGuard runs.
func (c *Collection) GuardSQL() string { return c.guardText(guardSQL) }

// InstallGuard installs the triggers. The user has to own the tables.
func (c *Collection) InstallGuard(ctx context.Context) error {
	return c.script(ctx, "install the guard", guardSQL)
}

// RemoveGuard removes the triggers.
func (c *Collection) RemoveGuard(ctx context.Context) error {
	return c.script(ctx, "remove the guard", unguardSQL)
}

func (c *Collection) script(ctx context.Context, what, text string) error {
	if c.c.Contents == nil {
		return fmt.Errorf("collection %s has no contents to guard", c.name)
	}
	return c.write(ctx, what, func(t *tx) error {
		_, err := t.s.Simple(t.ctx, c.guardText(text))
		return err
	})
}

const guardTriggers = `SELECT count(*) FROM pg_trigger WHERE tgname IN (SELECT id FROM {ids 1}) AND tgenabled IN ('O', 'A')
	AND tgrelid IN (to_regclass(?2), to_regclass(?3))`

// Guarded reports whether the triggers are there and enabled.
func (c *Collection) Guarded(ctx context.Context) (yes bool, err error) {
	if c.c.Contents == nil {
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
	err := t.row(guardTriggers, asJSON(want), table(c.c.Contents.Table), table(c.c.Rows.Table)).Scan(&n)
	return n == len(want), err
}
