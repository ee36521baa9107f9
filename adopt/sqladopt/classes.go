package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// SQLite keeps values of any class in a column, unless its table is STRICT. The text of a BLOB
// may be that of a TEXT, which is another key.

// sound returns the condition that the key of a row, and that of its content, have texts which
// no other key has.
func (s *shape) sound(c adopt.Collection) string {
	conditions := []string{"TRUE"}
	if key := s.rows.columns[c.Rows.Key]; key.sound != "" {
		conditions = append(conditions, fmt.Sprintf(key.sound, "r."+sqldb.Quoted(key.name)))
	}
	if named := s.rows.columns[c.Rows.Content]; named.sound != "" {
		name := "r." + sqldb.Quoted(named.name)
		conditions = append(conditions, "("+name+" IS NULL OR "+fmt.Sprintf(named.sound, name)+")")
	}
	return strings.Join(conditions, " AND ")
}

// classed is a column whose values have to be of one class.
type classed struct {
	table string
	column
}

// unsound returns whether a value is of another class.
func (x classed) unsound(t *tx) (yes bool, err error) {
	if x.column.unsound != "" {
		err = t.row("SELECT EXISTS (SELECT 1 FROM " + table(x.table) + " WHERE " + x.which() + ")").Scan(&yes)
	}
	return yes, err
}

// which returns the condition on rows that unsound finds.
func (x classed) which() string { return fmt.Sprintf(x.column.unsound, sqldb.Quoted(x.name)) }

// identities are the columns by which contents and their objects differ.
func (c *Collection) identities() (list []classed) {
	if c.c.Contents == nil {
		return nil
	}
	key := c.s.contents.columns[c.c.Contents.Key]
	list = append(list, classed{c.c.Contents.Table, key})
	object, _ := adopt.ParseTemplate(c.c.Contents.Object) // Parse has refused it
	for _, name := range object.Columns() {
		if column := c.s.contents.columns[name]; column.unique && name != key.name {
			list = append(list, classed{c.c.Contents.Table, column})
		}
	}
	return list
}

// errMixed reports that two contents may have one object.
var errMixed = errors.New("two contents may have one object")

// apartByClass returns errMixed for a content whose object may be that of another one as well.
func (c *Collection) apartByClass(t *tx) error {
	for _, x := range c.identities() {
		switch unsound, err := x.unsound(t); {
		case err != nil:
			return err
		case unsound:
			return fmt.Errorf("%s of %s holds values of another storage class than its type %s, such as a BLOB among TEXT (%s): %w",
				x.name, x.table, x.kind, x.which(), errMixed)
		}
	}
	return nil
}

// mixed finds values of another class than that of their column.
func (c *Collection) mixed(ctx context.Context) (out []adopt.Finding, err error) {
	rows := []classed{{c.c.Rows.Table, c.s.rows.columns[c.c.Rows.Key]}}
	if c.c.Contents != nil {
		rows = append(rows, classed{c.c.Rows.Table, c.s.rows.columns[c.c.Rows.Content]})
	}
	err = c.read(ctx, "look at storage classes", func(t *tx) error {
		out = nil
		for _, x := range rows {
			unsound, err := x.unsound(t)
			if err != nil {
				return err
			}
			if unsound {
				out = append(out, adopt.Finding{What: fmt.Sprintf("%s of %s holds values of another storage class than its type %s: such rows stay", x.name, x.table, x.kind),
					Do: "correct those WHERE " + x.which()})
			}
		}
		err := c.apartByClass(t)
		if errors.Is(err, errMixed) {
			out = append(out, adopt.Finding{Problem: true, What: err.Error(), Do: "correct such contents"})
			return nil
		}
		return err
	})
	return out, err
}
