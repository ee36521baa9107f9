package sqldb

import (
	"errors"
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
