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

// ClaimColumns returns the statements that give a table, whose rows end at the column,
// what a claim needs. They are to be read before they are run.
func (db *DB) ClaimColumns(table, end string) []string { return db.engine.claimColumns(table, end) }

// naming are the types whose values may name objects.
var naming = regexp.MustCompile(`char|text|uuid|binary|blob|bytea|^(big|medium|small|tiny)?int(eger)?$`)

// sampled reads what a column holds in some of the rows, and no long values.
const sampled = `SELECT v FROM (SELECT %s AS v FROM %s LIMIT ?1) s WHERE length(v) BETWEEN 1 AND ?2 LIMIT ?3`

// values returns what an expression holds in some of the rows: of the first, and of the
// last by the primary key, as those of old rows may name nothing any more.
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

// Tables returns the application's tables, each with what some of its rows hold. Where
// they cannot be read it gives the reason.
func (db *DB) Tables(ctx context.Context) (out []adopt.TableInfo, err error) {
	err = db.read(ctx, "list the tables", func(t *tx) error {
		out, err = db.engine.tables(t)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		switch err := db.sample(ctx, &out[i]); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			out[i].Unread = strings.Join(strings.Fields(err.Error()), " ")
		}
	}
	return out, nil
}

// sample reads what the columns of some rows hold. Each column is asked by itself, so that
// rows in which it holds nothing do not count.
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
	return db.told(ctx, needs{tables: []need{{into.Name, changed[:1]}}, alone: true}, err)
}
