package sqldb

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"
)

// Objection returns the message of a database that refused to change a row: another row
// needs it, or a trigger raised an error.
func Objection(err error) (text string, ok bool) {
	var e *pgconn.PgError
	var m *mysql.MySQLError
	switch code := Code(err); {
	case errors.As(err, new(twice)) && errors.As(err, &e):
		return e.Message, true
	case errors.As(err, new(twice)):
		return err.Error(), true
	case code == sqlite3.SQLITE_CONSTRAINT_UNIQUE, code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return "", false
	case violated(err):
		return err.Error(), true
	case errors.As(err, &e) && objects(e):
		return e.Message, true
	case errors.As(err, &m) && (slices.Contains(mysqlObjections, m.Number) || slices.Contains(mysqlRaised, string(m.SQLState[:2]))):
		return err.Error(), true
	}
	return "", false
}

// twice is the error of a value that is there already in a table that is not Lethe's: no other
// transaction was faster, but a trigger, or an index of the application, objects.
type twice struct{ error }

// Unwrap returns the error of the database.
func (t twice) Unwrap() error { return t.error }

var (
	sqliteUnique = regexp.MustCompile(`UNIQUE constraint failed: (?:index ')?(\w+)`)
	mysqlUnique  = regexp.MustCompile(`for key '(?:([^'.]*)\.)?([^']*)'$`)
	// mysqlOwn are the unique keys of Lethe's tables. MariaDB does not name the table.
	mysqlOwn = []string{"PRIMARY", "condemned_object", "runs_solo"}
)

// others reports whether a value is there already in a table that is not Lethe's.
func (d Dialect) others(err error) bool {
	var e *pgconn.PgError
	switch {
	case d.Own == nil:
		return false
	case errors.As(err, &e):
		return e.Code == uniqueViolation && !d.Own(e.SchemaName+"."+e.TableName) // a trigger that raises it names none
	case mysqlCode(err) == mysqlDuplicate:
		m := mysqlUnique.FindStringSubmatch(err.Error())
		return m != nil && (m[1] != "" && !d.Own(m[1]) || m[1] == "" && !slices.Contains(mysqlOwn, m[2]))
	case IsUnique(err):
		m := sqliteUnique.FindStringSubmatch(err.Error())
		return m != nil && !d.Own(m[1])
	}
	return false
}

// objects is Objection for PostgreSQL. The function of a trigger raises any code: the context of
// the error names function and statement, in whatever language.
func objects(e *pgconn.PgError) bool {
	class, ofFunction := e.Code[:min(2, len(e.Code))], strings.Contains(e.Where, "PL/")
	last, _, _ := strings.Cut(e.Where, "\n")
	switch {
	case e.Code == uniqueViolation, class == "40":
		return false
	case class == "23", class == "P0":
		return true
	case class == "22": // such as a division by zero
		return ofFunction
	}
	return ofFunction && strings.HasSuffix(last, " RAISE")
}
