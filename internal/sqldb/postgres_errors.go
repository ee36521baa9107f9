package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe"
)

// ErrAgain makes a write run again: what it read has changed since.
var ErrAgain = fmt.Errorf("what was read has changed since: %w", lethe.ErrUnavailable)

// State returns PostgreSQL's code of an error, empty if it has none.
func State(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Refused returns why PostgreSQL refused a write as it would every other: the connection may
// only read, or the disk is full. Empty: it did not.
func Refused(err error) string {
	if state := State(err); state == readOnly || state == diskFull {
		return serverAdvice[state].text
	}
	return ""
}

// Error codes with a meaning of their own.
const (
	uniqueViolation  = "23505"
	serialization    = "40001"
	readOnly         = "25006"
	diskFull         = "53100"
	deadlock         = "40P01"
	featureMissing   = "0A000" // "cached plan must not change result type"
	unknownStatement = "26000"
	statementExists  = "42P05"
	tooManyConns     = "53300"
	lockTimeout      = "55P03"
	canceled         = "57014"
	noPrivilege      = "42501"
	noTable          = "42P01"
	invalidText      = "22P02"
)

// contended reports whether the transaction lost a race, was rolled back, and may succeed
// when it runs again.
func contended(err error) bool {
	switch State(err) {
	case uniqueViolation, serialization, deadlock:
		return true
	case featureMissing:
		return strings.Contains(err.Error(), "cached plan")
	}
	return errors.Is(err, ErrAgain) || IsBusy(err) || slices.Contains(mysqlContended, mysqlCode(err))
}

// fatal reports whether the server has ended the connection with the error.
func fatal(err error) bool {
	if slices.Contains(mysqlFatal, mysqlCode(err)) {
		return true
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	severity := e.SeverityUnlocalized
	if severity == "" {
		severity = e.Severity
	}
	return severity == "FATAL" || severity == "PANIC"
}

// Denied reports whether the user of the database lacks a right.
func Denied(err error) bool {
	code := mysqlCode(err)
	return State(err) == noPrivilege || code == mysqlNoDatabase || slices.Contains(mysqlDenied, code)
}

// TooLong reports whether a statement took longer than it may.
func TooLong(err error) bool {
	return State(err) == canceled || slices.Contains(mysqlTooLong, mysqlCode(err))
}

// NoTable reports whether a statement names a table that does not exist, or is outside of
// the user's search path.
func NoTable(err error) bool { return State(err) == noTable || mysqlCode(err) == mysqlNoTable }

// refusal reports whether an error is the server's own reply to a statement. A pooler that
// lost the server replies in its place (class 08), which reveals nothing.
func refusal(err error) bool {
	state := State(err)
	// Other errors of MariaDB at COMMIT do not show whether it was done.
	return IsBusy(err) || violated(err) || mysqlCode(err) == mysqlDeadlock || state != "" && !strings.HasPrefix(state, "08") && !fatal(err)
}

// isGuard reports whether a guarded statement found another number of rows than it had to.
func isGuard(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == invalidText && strings.Contains(e.Message, guardText)
}

// serverAdvice is what an operator should know, by code or class of codes.
var serverAdvice = map[string]struct {
	kind error
	text string
}{
	uniqueViolation: {lethe.ErrUnavailable, "another transaction was faster each time"},
	serialization:   {lethe.ErrUnavailable, "another transaction was faster each time"},
	deadlock:        {lethe.ErrUnavailable, "other transactions were faster each time"},
	"22021":         {lethe.ErrInvalidKey, "PostgreSQL stores no text with a NUL or that is not UTF-8"},
	"22P05":         {lethe.ErrInvalidKey, "PostgreSQL stores no text with a NUL, or with a character that the encoding of the database lacks"},
	"23":            {lethe.ErrCorrupt, "rows contradict each other"},
	readOnly:        {lethe.ErrUnavailable, "this connection may only read: a query must not write or lock rows; of a standby give the URL of the primary; see default_transaction_read_only"},
	unknownStatement: {lethe.ErrUnavailable, "prepared statements get lost: there is a pooler in transaction mode; " +
		"set that in the configuration"},
	statementExists: {lethe.ErrUnavailable, "prepared statements get mixed up: there is a pooler in transaction mode; " +
		"set that in the configuration"},
	"28":         {lethe.ErrUnavailable, "PostgreSQL refuses the user: check name, password and pg_hba.conf"},
	"3D":         {lethe.ErrUnavailable, "PostgreSQL has no such database: create it"},
	noPrivilege:  {lethe.ErrUnavailable, "the user of PostgreSQL lacks a privilege"},
	noTable:      {lethe.ErrUnavailable, "a table does not exist: check whether the schema was dropped, and the search path"},
	diskFull:     {lethe.ErrUnavailable, "the disk of PostgreSQL is full: free some space there"},
	tooManyConns: {lethe.ErrUnavailable, "PostgreSQL takes no more connections: raise max_connections or lower the pools"},
	"53":         {lethe.ErrUnavailable, "PostgreSQL is short of resources"},
	lockTimeout:  {lethe.ErrUnavailable, "another transaction held the rows for too long"},
	canceled:     {lethe.ErrUnavailable, "a statement took longer than it may"},
	"25P03":      {lethe.ErrUnavailable, "the transaction was idle for longer than it may"},
	"57":         {lethe.ErrUnavailable, "PostgreSQL is being stopped or started"},
	"58":         {lethe.ErrUnavailable, "the disk of PostgreSQL fails"},
	"08":         {lethe.ErrUnavailable, "the connection to PostgreSQL broke"},
	"XX":         {lethe.ErrCorrupt, "PostgreSQL found its data damaged, or had an internal error"},
}

// MapServerError is MapError for PostgreSQL. It returns an error that is not the database's
// unchanged.
func MapServerError(err error) error {
	state := State(err)
	if state == "" {
		return mapMySQLError(err)
	}
	for _, code := range []string{state, state[:2]} {
		if a, ok := serverAdvice[code]; ok {
			return fmt.Errorf("%s: %w (%w)", a.text, a.kind, err)
		}
	}
	return err
}

// Unreachable returns the error for a connection that could not be made, or broke. It
// contains the text of the cause, but does not wrap it: a deadline of our own must not look
// like the caller's.
func Unreachable(err error) error {
	if mapped := MapError(err); errors.Is(mapped, lethe.ErrUnavailable) {
		return mapped
	}
	text := onOneLine(err.Error())
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		text = "the connection broke"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text = "no answer in time: " + text
	}
	return fmt.Errorf("%w: the database cannot be reached: %s", lethe.ErrUnavailable, text)
}

// onOneLine joins the lines of a text, each of them once: pgx names every attempt to connect on
// a line of its own, and with and without TLS they fail alike.
func onOneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
