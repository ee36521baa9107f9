package sqladopt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// ownRights are those on Lethe's tables.
var ownRights = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP"}

// granted are rights of a user on a database, or on a table of it; * is all.
type granted struct {
	database, table string
	rights          []string
}

var (
	grantLine  = regexp.MustCompile(`^GRANT (.+) ON (?:TABLE )?(\*|"(?:[^"]|"")*")\.(\*|"(?:[^"]|"")*") TO `)
	ofColumns  = regexp.MustCompile(`[A-Z ]+\([^)]*\),? ?`)
	likeEscape = regexp.MustCompile(`\\?.`)
)

// grantedBy parses a line of SHOW GRANTS in a session with ANSI_QUOTES. Rights
// on some columns do not count.
func grantedBy(line string) (g granted, ok bool) {
	m := grantLine.FindStringSubmatch(line)
	if m == nil {
		return g, false
	}
	name := func(s string) string { return strings.ReplaceAll(strings.Trim(s, `"`), `""`, `"`) }
	g.database, g.table = name(m[2]), name(m[3])
	for right := range strings.SplitSeq(ofColumns.ReplaceAllString(m[1], ""), ",") {
		g.rights = append(g.rights, strings.TrimSpace(right))
	}
	return g, true
}

// gives reports whether a right on a table of a database is among them; the
// table * is the whole database.
func (g granted) gives(right, database, table string) bool {
	if !slices.Contains(g.rights, right) && !slices.Contains(g.rights, "ALL PRIVILEGES") {
		return false
	}
	if g.table != "*" {
		return g.database == database && g.table == table
	}
	return g.database == "*" || like(g.database, database)
}

// like reports whether a name matches the database of a grant, which may have
// wildcards.
func like(pattern, name string) bool {
	re := likeEscape.ReplaceAllStringFunc(pattern, func(s string) string {
		switch s {
		case "%":
			return ".*"
		case "_":
			return "."
		}
		return regexp.QuoteMeta(strings.TrimPrefix(s, `\`))
	})
	return regexp.MustCompile("^(?s:" + re + ")$").MatchString(name)
}

// userRights are a user's rights, with the names of the user and its database.
type userRights struct {
	user, database string
	have           []granted
}

func (mysql) rights(t *tx) (u userRights, err error) {
	var user string
	if err := t.row("SELECT CURRENT_USER(), DATABASE()").Scan(&user, &u.database); err != nil {
		return u, err
	}
	name, host := user[:strings.LastIndexByte(user, '@')], user[strings.LastIndexByte(user, '@')+1:]
	u.user = sqldb.Literal(name) + "@" + sqldb.Literal(host)
	lines, err := all(t, text, "SHOW GRANTS")
	for _, line := range lines {
		if g, ok := grantedBy(line); ok {
			u.have = append(u.have, g)
		}
	}
	return u, err
}

// grant returns the statement for the missing rights on a table, or with * on a
// whole database; empty if none is missing.
func (u userRights) grant(name string, rights ...string) string {
	database, table := split(name)
	if database == "" {
		database = u.database
	}
	lacking := slices.DeleteFunc(slices.Clone(rights), func(right string) bool {
		return slices.ContainsFunc(u.have, func(g granted) bool { return g.gives(right, database, table) })
	})
	if len(lacking) == 0 {
		return ""
	}
	on := backquoted(database) + "." + backquoted(table)
	if table == "*" { // there, unlike before a table, _ and % are wildcards
		on = backquoted(strings.NewReplacer("_", `\_`, "%", `\%`).Replace(database)) + ".*"
	}
	return fmt.Sprintf("GRANT %s ON %s TO %s", strings.Join(lacking, ", "), on, u.user)
}

func backquoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (m mysql) lacks(t *tx, n needs) (grants []string, err error) {
	u, err := m.rights(t)
	if err != nil {
		return nil, err
	}
	if n.whole != "" {
		grants = append(grants, u.sight())
	}
	for _, w := range n.tables {
		rights := w.rights
		if slices.Contains(n.guarded, w.table) {
			rights = append(slices.Clone(rights), "TRIGGER")
		}
		grants = append(grants, u.grant(w.table, rights...))
	}
	if n.alone {
		return unlike(grants), nil
	}
	for _, name := range append(slices.Clone(tables), "guards") {
		grants = append(grants, u.grant(m.o.Schema+"_"+name, ownRights...))
	}
	if len(n.guarded) > 0 {
		rights := []string{"LOCK TABLES"}
		if n.counted {
			rights = append(rights, "CREATE ROUTINE", "ALTER ROUTINE")
		}
		grants = append(grants, u.grant("*", rights...))
	}
	return unlike(grants), nil
}

// sight returns the statement for the right to see the foreign keys of all tables, empty if
// the user has one. Those of other databases may refer to contents as well. REFERENCES lets
// it read no rows.
func (u userRights) sight() string {
	for _, g := range u.have {
		if g.database == "*" && g.table == "*" && (g.gives("REFERENCES", "", "") || g.gives("SELECT", "", "")) {
			return ""
		}
	}
	return "GRANT REFERENCES ON *.* TO " + u.user
}

// seesAll refuses contents to which a table may refer that is hidden from the user: the
// object of one would go that is in use.
func (m mysql) seesAll(t *tx, contents string) error {
	u, err := m.rights(t)
	if err != nil || u.sight() == "" {
		return err
	}
	return fmt.Errorf("a table could refer to %s that is hidden from the user: %w", contents, errUnseen)
}
