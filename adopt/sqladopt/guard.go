package sqladopt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

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
	return c.runner.Dialect.Expand(strings.NewReplacer(
		"{collection}", sqldb.Literal(c.name), "{version}", sqldb.Literal(version),
		"{content name}", sqldb.Quoted(c.c.Rows.Content),
		"{trigger contents}", sqldb.Quoted("lethe_"+c.name+"_contents"), "{trigger rows}", sqldb.Quoted("lethe_"+c.name+"_rows"),
		"{trigger counts}", sqldb.Quoted("lethe_"+c.name+"_counts"),
		"{guard contents}", sqldb.Quoted("guard_"+c.name+"_contents"), "{guard rows}", sqldb.Quoted("guard_"+c.name+"_rows"),
		"{guard look}", sqldb.Quoted("guard_"+c.name+"_look"),
		"{take}", sqldb.Quoted("take_"+c.name), "{release}", sqldb.Quoted("release_"+c.name),
		"{trigger left}", sqldb.Quoted("lethe_"+c.name+"_left"), "{guard left}", sqldb.Quoted("guard_"+c.name+"_left"),
	).Replace(text))
}

// GuardSQL returns what InstallGuard runs.
func (c *Collection) GuardSQL() string {
	install, _ := c.db.engine.guard(c)
	return c.guardText(install, c.guardVersion())
}

// guardVersion tells a guard from those of other descriptions, and of other versions
// of Lethe.
func (c *Collection) guardVersion() string {
	install, _ := c.db.engine.guard(c)
	sum := sha256.Sum256([]byte(c.guardText(install, "")))
	return hex.EncodeToString(sum[:8])
}

// InstallGuard installs the triggers, or those of this description in the place of
// others. The user has to own the tables.
func (c *Collection) InstallGuard(ctx context.Context) error {
	return c.script(ctx, "install the guard", func(t *tx) error {
		// PostgreSQL refuses who replaces a function that another is replacing.
		if err := c.db.engine.seal(t, c); err != nil {
			return err
		}
		if err := t.script(c.GuardSQL()); err != nil {
			return err
		}
		return c.apart(t)
	})
}

const standing = `SELECT count(*), coalesce(max(CASE WHEN d.state = 3 THEN d.due_at ELSE 0 END), 0) FROM {lethe}condemned d
	WHERE d.collection = ?1 AND d.state IN (2, 3) AND NOT (d.state = 3 AND d.due_at <= ?2)`

// RemoveGuard removes the triggers. It refuses while objects may yet be deleted: a
// row could name one of them.
func (c *Collection) RemoveGuard(ctx context.Context) error {
	return c.script(ctx, "remove the guard", func(t *tx) error {
		if err := c.db.engine.seal(t, c); err != nil {
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
		_, remove := c.db.engine.guard(c)
		return t.script(c.guardText(remove, ""))
	})
}

// standing counts the marks that are not over, and tells when the last of those ends
// whose end is known.
func (c *Collection) standing(t *tx) (n int, until lethe.Time, err error) {
	if installed, err := c.db.engine.has(t, "condemned"); err != nil || !installed {
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

// Guarded reports whether the triggers of this description are there and enabled.
func (c *Collection) Guarded(ctx context.Context) (yes bool, err error) {
	if !c.c.HasObjects() {
		return false, nil
	}
	err = c.read(ctx, "look for the guard", func(t *tx) error {
		yes, err = c.db.engine.guarded(t, c)
		return err
	})
	return yes, err
}
