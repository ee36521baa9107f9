package sqldb

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"
)

// Objection returns the message of a database that refused to change a row: another row
// needs it, or a trigger raised an error.
func Objection(err error) (text string, ok bool) {
	var e *pgconn.PgError
	switch code := Code(err); {
	case code == sqlite3.SQLITE_CONSTRAINT_UNIQUE, code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return "", false
	case code&0xff == sqlite3.SQLITE_CONSTRAINT:
		return err.Error(), true
	case errors.As(err, &e) && e.Code != uniqueViolation && (strings.HasPrefix(e.Code, "23") || strings.HasPrefix(e.Code, "P0")):
		return e.Message, true
	case slices.Contains(mysqlObjections, mysqlCode(err)):
		return err.Error(), true
	}
	return "", false
}
