package sqladopt

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// ClaimColumns returns the statements that add the columns of a claim to a
// table whose rows expire by a column. A person should read them first.
func (db *DB) ClaimColumns(of adopt.TableInfo, end string) []string {
	return db.engine.claimColumns(of, end)
}

// naming matches the types whose values may name objects.
var naming = regexp.MustCompile(`char|text|uuid|binary|blob|bytea|json|^(big|medium|small|tiny)?int(eger)?$`)

// sampled reads a column's values in some rows, without long ones.
const sampled = `SELECT v FROM (SELECT %s AS v FROM %s LIMIT ?1) s WHERE length(v) BETWEEN 1 AND ?2 LIMIT ?3`

// values returns an expression's values in some rows: in the first, and in the
// last by the primary key, since what old rows name may be gone.
func (t *tx) values(expression string, of adopt.TableInfo) (out []string, err error) {
	from := []string{table(of.Name)}
	if len(of.Key) == 1 {
		from = append(from, table(of.Name)+" ORDER BY "+sqldb.Quoted(of.Key[0])+" DESC")
	}
	for i, rows := range slices.Backward(from) {
		some, err := all(t, text, fmt.Sprintf(sampled, expression, rows), 20*adopt.SampledRows, longestKey, (adopt.SampledRows-len(out))/(i+1))
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(some, func(v string) bool { return slices.Contains(out, v) })...)
	}
	return out, nil
}

// Tables returns the application's tables, each with values of some rows, or
// the reason why these cannot be read.
func (db *DB) Tables(ctx context.Context) (out []adopt.TableInfo, err error) {
	err = db.read(ctx, "list the tables", func(t *tx) error {
		out, err = db.engine.tables(t)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Dotted {
			continue // it would be read as a table of a schema
		}
		switch err := db.sample(ctx, &out[i]); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			out[i].Unread = strings.Join(strings.Fields(err.Error()), " ")
		}
	}
	return out, nil
}

// sample reads values of a table's columns. Each column is queried separately,
// to skip rows without a value.
func (db *DB) sample(ctx context.Context, into *adopt.TableInfo) error {
	err := db.readOn(ctx, db.runner, "sample "+into.Name, func(t *tx) error {
		for i, c := range into.Columns {
			if !naming.MatchString(c.Kind) {
				continue
			}
			as := db.engine.text(sqldb.Quoted(c.Name), column{name: c.Name, kind: c.Kind, base: c.Kind})
			values, err := t.values(as, *into)
			if err != nil {
				return err
			}
			into.Columns[i].Values = values
		}
		return nil
	})
	return db.withGrants(ctx, needs{tables: []need{{into.Name, changed[:1]}}, alone: true}, err)
}
