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

const unguardSQL = `DROP TRIGGER IF EXISTS {trigger contents} ON {contents};
DROP TRIGGER IF EXISTS {trigger rows} ON {rows};
DROP FUNCTION IF EXISTS {lethe}{guard contents}();
DROP FUNCTION IF EXISTS {lethe}{guard rows}();`

// guardWords are the words of the guard's statements.
func (c *Collection) guardText(text string) string {
	counted, grows := "INSERT", "TRUE"
	if c.c.Contents.Count != "" {
		column := ident(c.c.Contents.Count)
		counted = "INSERT OR UPDATE OF " + column
		grows = "TG_OP = 'INSERT' OR NEW." + column + " > OLD." + column
	}
	return c.runner.Dialect.Expand(strings.NewReplacer(
		"{collection}", literal(c.name),
		"{content name}", ident(c.c.Rows.Content),
		"{counted}", counted, "{grows}", grows,
		"{trigger contents}", ident("lethe_"+c.name+"_contents"), "{trigger rows}", ident("lethe_"+c.name+"_rows"),
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

const guardTriggers = `SELECT count(*) FROM pg_trigger WHERE tgname IN (?1, ?2) AND tgenabled IN ('O', 'A')
	AND tgrelid IN (to_regclass(?3), to_regclass(?4))`

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
	var n int
	err := t.row(guardTriggers, "lethe_"+c.name+"_contents", "lethe_"+c.name+"_rows",
		table(c.c.Contents.Table), table(c.c.Rows.Table)).Scan(&n)
	return n == 2, err
}
