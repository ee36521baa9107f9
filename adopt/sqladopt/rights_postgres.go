package sqladopt

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	// tableRights returns those of a list that the user lacks on a table, and
	// its owner. A table without a schema is looked up in all schemas.
	tableRights = `SELECT quote_ident(n.nspname), quote_ident(n.nspname) || '.' || quote_ident(c.relname), has_schema_privilege(n.oid, 'USAGE'),
			(SELECT coalesce(string_agg(x.r, ', ' ORDER BY x.o), '') FROM unnest(string_to_array(?3, ',')) WITH ORDINALITY AS x(r, o)
				WHERE NOT has_table_privilege(c.oid, x.r)),
			coalesce((SELECT quote_ident(rolname) FROM pg_roles WHERE oid = c.relowner AND NOT rolsuper), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname = ?2
			AND (n.nspname = ?1 OR ?1 = '' AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema')
		ORDER BY pg_table_is_visible(c.oid) DESC, n.nspname LIMIT 1`
	// schemaRights returns whether the schema of Lethe's tables exists, or can
	// be created, and the missing rights in it.
	schemaRights = `SELECT quote_ident(current_user), n.oid IS NOT NULL, has_database_privilege(current_database(), 'CREATE'),
			coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE'), FALSE)
		FROM (SELECT to_regnamespace(?1) AS oid) n`
	// ofOthers returns those of Lethe's tables that neither the user nor its
	// roles own.
	ofOthers = `SELECT quote_ident(c.relname) FROM pg_class c WHERE c.relnamespace = to_regnamespace(?1)
		AND c.relname IN (SELECT id FROM {ids 2}) AND c.relkind = 'r' AND NOT pg_has_role(c.relowner, 'USAGE') ORDER BY 1`
)

// PostgreSQL's errors about rights: the table of a query, one that has to be
// owned, a policy that hides rows from the user.
var (
	deniedTable  = regexp.MustCompile(`permission denied for (?:table|view|materialized view|relation) (\S+)`)
	deniedSchema = regexp.MustCompile(`permission denied for schema (\S+)`)
	notOwner     = regexp.MustCompile(`must be owner of (?:table|relation) (\S+)`)
	hiddenRows   = regexp.MustCompile(`row-level security policy for table`)
)

func (p postgres) lacks(t *tx, n needs) (grants []string, err error) {
	var user string
	var there, may, uses bool
	if err := t.row(schemaRights, p.schema()).Scan(&user, &there, &may, &uses); err != nil {
		return nil, err
	}
	if grants, err = p.lacksOnTables(t, n, user); err != nil {
		return nil, err
	}
	if n.alone {
		return grants, nil
	}
	switch {
	case !there && !may:
		grants = append(grants, fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION %s", p.schema(), user))
	case there && !uses:
		grants = append(grants, fmt.Sprintf("GRANT USAGE, CREATE ON SCHEMA %s TO %s", p.schema(), user))
	}
	others, err := all(t, text, ofOthers, p.schema(), sqldb.JSON(tables))
	for _, name := range others {
		grants = append(grants, fmt.Sprintf("ALTER TABLE %s.%s OWNER TO %s", p.schema(), name, user))
	}
	if hiddenRows.MatchString(n.said) {
		grants = append(grants, fmt.Sprintf("ALTER ROLE %s BYPASSRLS", user))
	}
	return unlike(grants), err
}

// lacksOnTables returns the statements for the application's tables.
func (p postgres) lacksOnTables(t *tx, n needs, user string) (grants []string, err error) {
	want := slices.Clone(n.tables)
	if m := deniedTable.FindStringSubmatch(n.said); m != nil && !slices.ContainsFunc(want, func(n need) bool { return bare(n.table) == m[1] }) && !slices.Contains(tables, m[1]) {
		want = append(want, need{m[1], changed[:1]})
	}
	for i, w := range want {
		if slices.Contains(n.guarded, w.table) {
			want[i].rights = append(slices.Clone(w.rights), "TRIGGER")
		}
	}
	for _, w := range want {
		schema, name := split(w.table)
		var of, place, lacking, owner string
		var usage bool
		switch err := t.row(tableRights, schema, name, strings.Join(w.rights, ",")).Scan(&of, &place, &usage, &lacking, &owner); {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err != nil:
			return nil, err
		}
		if !usage {
			grants = append(grants, fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", of, user))
		}
		if lacking != "" {
			grants = append(grants, fmt.Sprintf("GRANT %s ON %s TO %s", lacking, place, user))
		}
		// No statement makes a user a superuser.
		if m := notOwner.FindStringSubmatch(n.said); m != nil && m[1] == name && owner != "" {
			grants = append(grants, fmt.Sprintf("GRANT %s TO %s", owner, user))
		}
	}
	if m := deniedSchema.FindStringSubmatch(n.said); m != nil && m[1] != p.o.Schema {
		grants = append(grants, fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", sqldb.Quoted(m[1]), user))
	}
	return grants, nil
}
