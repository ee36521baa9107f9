package stepwise

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Table is a table whose rows are compared.
type Table struct {
	Name string // as SQL writes it, with its schema
	// Row is a row of t as text (default all of it, as JSON), and From what t is (default
	// the table).
	Row, From string
	// Blurred: rows that look the same may be other ones, so that they are always put back.
	Blurred bool
	// Read makes of the rows, a line each, what is compared; nil: the rows as they are.
	Read func(rows string) (string, error)
}

// Rows are what tables held, to return to it and to compare with it.
type Rows struct {
	direct *pgx.Conn
	tables []Table
	query  string
	before map[string]string
	resets int
}

// swept is after how many returns the rows that are gone are swept out, which every look
// has to pass by until then.
const swept = 20

// Keep remembers what the tables hold, in a schema "saved".
func Keep(ctx context.Context, direct *pgx.Conn, tables []Table) (r *Rows, err error) {
	r = &Rows{direct: direct, tables: tables}
	list := "CREATE SCHEMA saved;"
	var queries []string
	for i, t := range tables {
		if t.Row == "" {
			t.Row = "to_jsonb(t)::text"
		}
		if t.From == "" {
			t.From = t.Name + " t"
		}
		queries = append(queries, fmt.Sprintf("SELECT '%s' AS name, coalesce(string_agg(r, E'\\n' ORDER BY r), '') FROM (SELECT %s AS r FROM %s) x", t.Name, t.Row, t.From))
		list += fmt.Sprintf("CREATE TABLE %s AS TABLE %s;", saved(i), t.Name)
	}
	r.query = strings.Join(queries, " UNION ALL ")
	if err := r.execute(ctx, list); err != nil {
		return nil, err
	}
	r.before, err = r.Look(ctx)
	return r, err
}

// saved is the copy of a table.
func saved(i int) string { return fmt.Sprintf("saved.t%d", i) }

func (r *Rows) execute(ctx context.Context, list string) error {
	_, err := r.direct.PgConn().Exec(ctx, list).ReadAll()
	return err
}

// Look returns what each table holds.
func (r *Rows) Look(ctx context.Context) (map[string]string, error) {
	rows, err := r.direct.Query(ctx, r.query)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	var name, text string
	if _, err := pgx.ForEachRow(rows, []any{&name, &text}, func() error {
		out[name] = text
		return nil
	}); err != nil {
		return nil, err
	}
	for _, t := range r.tables {
		if t.Read != nil {
			if out[t.Name], err = t.Read(out[t.Name]); err != nil {
				return nil, fmt.Errorf("%s: %w", t.Name, err)
			}
		}
	}
	return out, nil
}

// Reset returns to what was kept, given what the tables hold.
func (r *Rows) Reset(ctx context.Context, have map[string]string) error {
	list, names := "SET session_replication_role = replica;", make([]string, len(r.tables)) // foreign keys need no order
	for i, t := range r.tables {
		names[i] = t.Name
		if have[t.Name] != r.before[t.Name] || t.Blurred {
			list += fmt.Sprintf("DELETE FROM %s; INSERT INTO %s OVERRIDING SYSTEM VALUE SELECT * FROM %s;", t.Name, t.Name, saved(i))
		}
	}
	if err := r.execute(ctx, list); err != nil {
		return err
	}
	if r.resets++; r.resets%swept == 0 {
		return r.execute(ctx, "VACUUM "+strings.Join(names, ", "))
	}
	return nil
}

// Changes is how what tables hold differs from what was kept, table by table: rows that
// are new, as named writes them, and rows that are gone. What leaveOut matches is left
// out, unless it is nil.
func (r *Rows) Changes(have map[string]string, leaveOut *regexp.Regexp, named func(string) string) string {
	var out []string
	for _, t := range r.tables {
		if have[t.Name] == r.before[t.Name] {
			continue
		}
		now, then := have[t.Name], r.before[t.Name]
		if leaveOut != nil {
			now, then = leaveOut.ReplaceAllString(now, ""), leaveOut.ReplaceAllString(then, "")
		}
		is, was := strings.Split(now, "\n"), strings.Split(then, "\n")
		for _, row := range is {
			if !slices.Contains(was, row) {
				out = append(out, t.Name+" has "+named(row))
			}
		}
		for _, row := range was {
			if !slices.Contains(is, row) {
				out = append(out, t.Name+" lacks "+row)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
