package sqladopt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// places are the tables that the guard is on.
func (c *Collection) places() []string {
	if c.c.Contents == nil {
		return []string{c.s.rows.place}
	}
	return []string{c.s.contents.place, c.s.rows.place}
}

// keyed reports whether the key of a content is that of its object: the guard then knows
// one by the other. Otherwise another content may get the same object.
func (c *Collection) keyed() bool {
	t, err := adopt.ParseTemplate(c.c.Contents.Object)
	return err == nil && len(t.Columns()) == 1 && t.Columns()[0] == c.c.Contents.Key
}

// guardText fills in the placeholders of the guard's statements.
func (c *Collection) guardText(text, version string) string {
	return c.runner.Dialect.Expand(strings.NewReplacer(
		"{collection}", sqldb.Literal(c.name), "{version}", sqldb.Literal(version),
		"{content name}", sqldb.Quoted(c.c.Rows.Content),
		"{trigger contents}", sqldb.Quoted("lethe_"+c.name+"_contents"), "{trigger rows}", sqldb.Quoted("lethe_"+c.name+"_rows"),
		"{trigger objects}", sqldb.Quoted("lethe_"+c.name+"_objects"), "{guard objects}", sqldb.Quoted("guard_"+c.name+"_objects"),
		"{trigger counts}", sqldb.Quoted("lethe_"+c.name+"_counts"),
		"{guard contents}", sqldb.Quoted("guard_"+c.name+"_contents"), "{guard rows}", sqldb.Quoted("guard_"+c.name+"_rows"),
		"{guard look}", sqldb.Quoted("guard_"+c.name+"_look"),
		"{take}", sqldb.Quoted("take_"+c.name), "{release}", sqldb.Quoted("release_"+c.name),
		"{trigger left}", sqldb.Quoted("lethe_"+c.name+"_left"), "{guard left}", sqldb.Quoted("guard_"+c.name+"_left"),
	).Replace(text))
}

// GuardSQL returns what InstallGuard runs.
func (c *Collection) GuardSQL() string {
	return c.guardText(c.db.engine.guard(c), c.guardVersion())
}

// guardVersion distinguishes a guard from those of other descriptions, and of other versions
// of Lethe.
func (c *Collection) guardVersion() string {
	sum := sha256.Sum256([]byte(c.guardText(c.db.engine.guard(c), "")))
	return hex.EncodeToString(sum[:8])
}

// InstallGuard installs the triggers, and removes those of other descriptions
// from any table. The user has to own the tables. It fails while objects of a
// table that it leaves may yet be deleted.
func (c *Collection) InstallGuard(ctx context.Context) error {
	if c.c.Rows.OwnFolders() {
		// The guard keeps new rows apart from here on. It is not valid before the others are
		// read, under no lock that keeps the application waiting.
		if err := c.install(ctx, "folders"); err != nil {
			return err
		}
		err := c.read(ctx, "look for folders in folders", func(t *tx) error {
			if err := c.db.engine.allow(t, 0); err != nil {
				return err
			}
			return c.apart(t)
		})
		if err != nil {
			return err
		}
	}
	return c.install(ctx, c.guardVersion())
}

func (c *Collection) install(ctx context.Context, version string) error {
	return c.script(ctx, "install the guard", func(t *tx) error {
		// As a transaction that marks: the collection first.
		if _, err := c.lock(t, lockAlone); err != nil {
			return err
		}
		// The tables at once, in one order: locks that come one by one may meet the application's.
		if err := c.db.engine.seal(t, c); err != nil {
			return err
		}
		outdated, elsewhere, err := c.outdated(t)
		if err != nil {
			return err
		}
		if elsewhere != "" {
			if err := t.quiet(c.db.engine, c.name); err != nil {
				return fmt.Errorf("%w, with the description by which the guard is on %s, or once that table is dropped", err, elsewhere)
			}
		}
		if err := c.keepShown(t); err != nil {
			return err
		}
		if err := c.mayMean(t); err != nil {
			return err
		}
		if err := t.drop(outdated); err != nil {
			return err
		}
		// Where statements on triggers commit, others of the application came between.
		if err := c.describe(t); err != nil {
			return err
		}
		return t.script(c.guardText(c.db.engine.guard(c), version))
	})
}

// RemoveGuard removes the triggers from any table. It fails while objects may
// yet be deleted: a row could name one of them.
func (c *Collection) RemoveGuard(ctx context.Context) error {
	return c.script(ctx, "remove the guard", func(t *tx) error {
		if err := c.db.engine.seal(t, c); err != nil {
			return err
		}
		if err := t.quiet(c.db.engine, c.name); err != nil {
			return err
		}
		list, err := t.installed(c.db.engine, c.name)
		if err != nil {
			return err
		}
		return t.drop(list)
	})
}

func (c *Collection) script(ctx context.Context, what string, do func(*tx) error) error {
	if !c.c.HasObjects() {
		return fmt.Errorf("collection %s has no objects to guard", c.name)
	}
	// A schema that it changes itself is not compared.
	return c.db.withGrants(ctx, c.needs, c.db.writeOn(ctx, c.runner, what+" of "+c.name, do))
}

// Guarded reports whether the triggers of this description are installed and
// enabled.
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
