package sqladopt

import (
	"database/sql"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// engine is what differs between the databases that can be adopted. All else in this
// package is one text for all of them.
type engine interface {
	connector
	grammar
	catalog
	guardian
	housing
}

// connector opens a database and begins its transactions.
type connector interface {
	// pool makes the connections. An error does not contain the address.
	pool(url string) (*sql.DB, error)
	// beginnings are the texts that begin a transaction that writes and one that reads.
	// Each answers the time, in microseconds since 1970.
	beginnings() (write, read string)
	// probe refuses a database that must not be believed, or that is too old.
	probe(t *tx) error
	// remarks are what the owner of a collection should know of the database.
	remarks(t *tx) ([]adopt.Finding, error)
	// unhurried lets the statements of the transaction take as long as they need.
	unhurried(t *tx) error
}

// grammar writes what is not one text for all databases.
type grammar interface {
	// dialect is the database's with the words of a collection, and those for Lethe's
	// tables and their types.
	dialect(w words) sqldb.Dialect
	// text is the expression of a column's value as text: no two values have one text.
	text(expression string, c column) string
	// value makes a value of a column again of what text made of it.
	value(expression string, c column) string
	// instants are those of a column of a table: its error states what to do.
	instants(t *tx, table string, c column, r adopt.Rows) (instants, error)
	// index is the statement that makes an index. Where may be empty.
	index(table, columns, where string) string
}

// catalog looks at tables.
type catalog interface {
	// look returns a table: an error for one that is not there, or that cannot be adopted.
	look(t *tx, name string) (relation, error)
	// references are the columns, each with its table, that refer to contents by foreign
	// keys beside that of the rows.
	references(t *tx, c adopt.Collection) ([]string, error)
	// tables lists the application's.
	tables(t *tx) ([]adopt.TableInfo, error)
	// has reports whether one of Lethe's tables is there.
	has(t *tx, name string) (bool, error)
	// readsWhole reports whether a statement reads its table from beginning to end,
	// although every index may be used. It does not run the statement.
	readsWhole(t *tx, tr trial) (bool, error)
}

// guardian keeps references from what is condemned. Texts have marks of Collection.guardText.
type guardian interface {
	// guard is the text that installs the guard of a collection, over another of it on
	// the same tables.
	guard(c *Collection) string
	// installed is a query of all triggers and functions of Lethe's: the name of each, how
	// the text that makes it calls it, the place of its table, the statement that drops it.
	installed() string
	// endsContents reports whether the guard refuses a content that comes back while a
	// transaction marks and removes it.
	endsContents() bool
	// seal waits for marks under way on the collection's tables, and keeps others away.
	seal(t *tx, c *Collection) error
	// guarded reports whether the guard is there as guard writes it, and fires.
	guarded(t *tx, c *Collection) (bool, error)
}

// housing is the place of Lethe's own tables, and of the columns of a claim, and what it
// takes to be let in.
type housing interface {
	// lacks are the statements that give the user the rights that it lacks.
	lacks(t *tx, n needs) ([]string, error)
	// claimColumns are the statements that give a table the columns of a claim, and
	// their indexes.
	claimColumns(table, end string) []string
	// prepare comes before tables are made: one at a time, and not among a ledger's.
	prepare(t *tx) error
	// leave comes after they are dropped.
	leave(t *tx) error
}

// column is a column of the application's.
type column struct {
	name    string
	kind    string // as the database writes its type
	notNull bool
	base    string // its type without length and domain: values of one are compared as such
	// unique: an index holds each value once. folding: values that are equal need not be
	// written alike.
	unique, folding bool
	// variants: as folding, and statements look up how a key is written.
	variants bool
	// cascades: a foreign key takes its row away, or changes it, past every trigger.
	cascades bool
	// seek is t.id as an index of the column finds it, empty if text's expression does.
	seek string
	// noKey is which types a key has to have, empty if this is one. Fickle: one session
	// writes its values unlike another. Coarse: too coarse for the time of a claim.
	noKey          string
	fickle, coarse bool
}

// relation is a table of the application's.
type relation struct {
	place   string // its name for statements, with its schema
	columns map[string]column
}

// around is what stands around a value.
type around struct{ open, close string }

// instants are how the times of a column are read and written. Of makes what is
// compared out of a column's value, nil if that is the value itself, and at makes the
// same out of microseconds since 1970; stamp is at as the column keeps it; micros makes
// microseconds of what of made. An end before 1970 is one at 1970.
type instants struct {
	of                func(expression string) string
	at, stamp, micros around
}

func (i instants) compared(expression string) string {
	if i.of == nil {
		return expression
	}
	return i.of(expression)
}
