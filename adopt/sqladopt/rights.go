package sqladopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Denied is the error of a database whose user lacks rights.
type Denied struct {
	// Grants are the statements that grant all missing rights, for the owner of
	// the tables or a superuser to run.
	Grants []string
	err    error
}

// Error implements error.
func (d *Denied) Error() string {
	return fmt.Sprintf("%v: let the owner of the tables, or a superuser, run: %s", d.err, strings.Join(d.Grants, "; "))
}

// Unwrap returns the database's error.
func (d *Denied) Unwrap() error { return d.err }

// errUnseen reports that tables do not exist, or that the user may not see
// them.
var errUnseen = errors.New("its user may not see it")

// needs are the rights that a collection needs on the application's tables. All need
// those on Lethe's own.
type needs struct {
	tables  []need
	guarded []string // tables that get triggers
	counted bool     // the guard has functions
	// whole is a table to which all references have to be visible; empty if
	// that does not matter.
	whole string
	said  string // the database's error
	alone bool   // those on Lethe's own tables do not matter
}

// need are rights on a table.
type need struct {
	table  string
	rights []string
}

// changed are the rights on tables whose rows are locked, changed and removed.
var changed = []string{"SELECT", "UPDATE", "DELETE"}

// needsOf returns the rights that a collection needs.
func needsOf(c adopt.Collection) (n needs) {
	switch {
	case c.Keys != nil:
		n.tables = readBy(c.Keys.Query)
	case c.Folders != nil && c.Folders.Live.Table == "":
		n.tables = readBy(c.Folders.Live.Query)
	case c.Folders != nil:
		n.tables = []need{{c.Folders.Live.Table, changed[:1]}}
	default:
		n.tables = []need{{c.Rows.Table, changed}}
	}
	if c.Contents != nil {
		n.tables = append(n.tables, need{c.Contents.Table, changed})
		n.whole = c.Contents.Table
	}
	if c.HasObjects() && c.Guard == adopt.TriggerGuard {
		for _, t := range n.tables {
			n.guarded = append(n.guarded, t.table)
		}
		n.counted = c.Contents != nil && c.Contents.Count != ""
	}
	return n
}

var sources = regexp.MustCompile("(?i)\\b(?:from|join)\\s+([\\w.\"`]+)")

// readBy are the tables that a query seems to read.
func readBy(query string) (list []need) {
	for _, m := range sources.FindAllStringSubmatch(query, -1) {
		name := strings.NewReplacer(`"`, "", "`", "").Replace(m[1])
		if !slices.ContainsFunc(list, func(n need) bool { return n.table == name }) {
			list = append(list, need{name, changed[:1]})
		}
	}
	return list
}

// withGrants adds the missing grants to an error of a user without rights.
func (db *DB) withGrants(ctx context.Context, n needs, err error) error {
	var denied *Denied
	unseen := errors.Is(err, errUnseen) || sqldb.NoTable(err)
	if err == nil || ctx.Err() != nil || errors.As(err, &denied) || !sqldb.Denied(err) && !unseen {
		return err
	}
	n.said = err.Error()
	apart := n
	apart.alone = n.alone || unseen
	grants, failed := db.lacks(ctx, apart)
	if len(grants) > 0 && unseen { // it exists, and the rest is checked as well
		grants, failed = db.lacks(ctx, n)
	}
	if m := notOwner.FindStringSubmatch(n.said); m != nil && failed == nil && len(grants) == 0 {
		return fmt.Errorf("run this as the owner of %s, or as a superuser: %w", m[1], Reason(err))
	}
	if failed != nil || len(grants) == 0 {
		return err
	}
	return &Denied{grants, err}
}

// lacks returns the statements that grant the user its missing rights.
func (db *DB) lacks(ctx context.Context, n needs) (grants []string, err error) {
	err = db.readOn(ctx, db.runner, "look for rights", func(t *tx) error {
		grants, err = db.engine.lacks(t, n)
		return err
	})
	return grants, err
}

// Rights returns findings about missing rights on Lethe's own tables.
func (s scope) Rights(ctx context.Context) ([]adopt.Finding, error) { return s.rights(ctx, "") }

// rights returns findings about missing rights; denied is what was refused on
// the application's tables, empty if nothing was.
func (s scope) rights(ctx context.Context, denied string) ([]adopt.Finding, error) {
	n, what := s.needs, cmp.Or(denied, "the user of the database lacks rights on Lethe's own tables, or for the guard")
	if n.said = denied; denied == "" {
		n.whole, n.tables = "", nil
		for _, name := range n.guarded {
			n.tables = append(n.tables, need{name, nil})
		}
	}
	grants, err := s.db.lacks(ctx, n)
	switch {
	case err != nil || denied == "" && len(grants) == 0:
		return nil, err
	case len(grants) == 0:
		return []adopt.Finding{{Problem: true, What: what, Do: "grant that right to the user of the database"}}, nil
	}
	return []adopt.Finding{{Problem: true, What: what, Do: adopt.ToGrant(grants)}}, nil
}

// Errors of databases for a user who may not even connect.
var (
	mysqlOutside    = regexp.MustCompile(`Access denied for user '(.*)'@'(.*)' to database '(.*)'`)
	postgresOutside = regexp.MustCompile(`permission denied for database "(.*?)"`)
)

// admission adds to the error of a user who may not connect the statement that
// allows it.
func admission(address string, err error) error {
	if m := mysqlOutside.FindStringSubmatch(err.Error()); m != nil {
		u := userRights{user: sqldb.Literal(m[1]) + "@" + sqldb.Literal(m[2]), database: m[3]}
		return &Denied{[]string{u.grant("*", "SELECT")}, err}
	}
	to, bad := url.Parse(address)
	if m := postgresOutside.FindStringSubmatch(err.Error()); m != nil && bad == nil && to.User.Username() != "" {
		return &Denied{[]string{fmt.Sprintf("GRANT CONNECT ON DATABASE %s TO %s", sqldb.Quoted(m[1]), sqldb.Quoted(to.User.Username()))}, err}
	}
	return err
}

// unlike returns the non-empty statements of a list, each once.
func unlike(list []string) (out []string) {
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
