package sqladopt

import (
	"context"
	"database/sql"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// engine is what differs between databases, by subject. All else in this package is
// one text for all of them.
type engine struct {
	connector
	grammar
	catalog
	census
	guardian
	housing
}

// connector opens a database and begins its transactions.
type connector interface {
	// pool creates the connections. An error does not contain the address.
	pool(ctx context.Context, url string) (*sql.DB, error)
	// beginnings returns the texts that begin a write and a read transaction.
	// Each returns the time, in microseconds since 1970.
	beginnings() (write, read string)
	// probe returns an error for a database that is not trustworthy or too old.
	probe(t *tx) error
	// remarks returns findings about the database for the owner of a
	// collection.
	remarks(t *tx) ([]adopt.Finding, error)
	// relax lets a crash of the server undo the transaction although it was
	// committed, with all that follows it.
	relax(t *tx) error
	// allow limits the time of the transaction's further statements; 0 removes the limit.
	allow(t *tx, d time.Duration) error
}

// grammar writes what differs between databases.
type grammar interface {
	// dialect returns the database's dialect with the names of a collection, of
	// Lethe's tables and of their types.
	dialect(w words) sqldb.Dialect
	// text returns the expression of a column's value as text. It is injective, and
	// compared by bytes.
	text(expression string, c column) string
	// value returns the expression that inverts text.
	value(expression string, c column) string
	// instants returns the times of a table's column. Its error describes what
	// to do.
	instants(t *tx, table string, c column, r adopt.Rows) (instants, error)
	// index returns the statement that creates an index. Where may be empty.
	index(table, columns, where string) string
	// undefer returns the statement that runs at once what triggers and constraints
	// leave for the commit, empty if they cannot.
	undefer() string
}

// catalog reads the schema of a collection.
type catalog interface {
	// look returns a table, or an error if it is missing or cannot be adopted.
	look(t *tx, name string) (relation, error)
	// references returns the columns of all foreign keys to contents, in the order of
	// tables, foreign keys and columns. It fails if the user may not see one.
	references(t *tx, c adopt.Collection) ([]keyColumn, error)
	// fingerprint returns what look and references read.
	fingerprint(t *tx, c adopt.Collection) (fingerprint, error)
	// expect makes a transaction that writes fail with adopt.ErrChanged if the fingerprint is
	// another now. It comes last: a change that was committed before a lock is seen, and
	// others wait for the lock.
	expect(t *tx, m *prepared) error
	// triggers returns those of the application on a table, and rules, for an
	// event (UPDATE or DELETE), whose text mentions a word, and whether it can
	// tell that there are no others.
	triggers(t *tx, name, event, mentions string) (names []string, all bool, err error)
}

// census reads the schema of the whole database.
type census interface {
	// tables returns the application's tables.
	tables(t *tx) ([]adopt.TableInfo, error)
	// has reports whether one of Lethe's tables exists.
	has(t *tx, name string) (bool, error)
	// marks returns what tells this database from its copies, as far as it shows: a
	// database without any of the marks that it had is a copy, or was moved. Lethe's
	// tables exist.
	marks(t *tx) ([]string, error)
	// readsWhole reports whether a statement scans its table although every
	// index may be used. It does not run the statement.
	readsWhole(t *tx, tr trial) (bool, error)
}

// guardian prevents references to what is condemned. Texts have placeholders of
// Collection.guardText.
type guardian interface {
	// guard returns the text that installs the guard of a collection, replacing
	// another one on the same tables.
	guard(c *Collection) string
	// installed returns a query of all triggers and functions of Lethe: the
	// name of each, its name in the text that creates it, the place of its
	// table, the statement that drops it.
	installed() string
	// endsContents reports whether the guard refuses a content that is inserted
	// again while a transaction marks and removes it.
	endsContents() bool
	// seal waits for running Marks on the collection's tables, and blocks new
	// ones.
	seal(t *tx, c *Collection) error
	// refusing reports whether a foreign key of the rows refuses at once to
	// remove a content that one refers to. It stays until the transaction ends.
	refusing(t *tx, c *Collection) (bool, error)
	// guarded reports whether the guard is installed as guard writes it, and
	// enabled.
	guarded(t *tx, c *Collection) (bool, error)
}

// housing creates Lethe's own tables and the columns of a claim, and knows the
// rights for that.
type housing interface {
	// lacks returns the statements that grant the user its missing rights.
	lacks(t *tx, n needs) ([]string, error)
	// claimColumns returns the statements that add the columns of a claim to a
	// table, and their indexes.
	claimColumns(of adopt.TableInfo, end string) []string
	// prepare runs before tables are created: one at a time, and not among a
	// ledger's.
	prepare(t *tx) error
	// leave runs after they are dropped.
	leave(t *tx) error
}

// column is a column of the application.
type column struct {
	name    string
	kind    string // its type as the database writes it
	notNull bool
	base    string // its type without length and domain, which determines comparisons
	// unique: an index holds each value once. folding: equal values may have
	// different texts.
	unique, folding bool
	// variants: as folding, and statements look up the text of a key.
	variants bool
	// cascades: a foreign key removes or changes its row without firing a
	// trigger.
	cascades bool
	// generated: it is computed from other columns, after the triggers that change those.
	generated bool
	// seek is the form of t.id that uses an index of the column, empty if
	// text's expression does.
	seek string
	// sound is the condition that a value, as %s, is of the storage class of the column: text
	// is injective on those alone. unsound, which uses an index, is that it is of another.
	// Both are empty if all values are of one.
	sound, unsound string
	// noKey is which types a key has to have, empty if this is one. fickle: its
	// text depends on the session. coarse: it is too coarse for the time of a
	// claim.
	noKey          string
	fickle, coarse bool
}

// relation is a table of the application.
type relation struct {
	place   string // its name for statements, with its schema
	parted  bool   // it has partitions
	columns map[string]column
}

// around is the text around a value.
type around struct{ open, close string }

// instants are the SQL that reads and writes the times of a column. of converts
// the column's value to one that can be compared; nil if it is that already. at
// converts microseconds since 1970 to the same, and stamp to the form of the
// column. micros converts the result of of to microseconds. An end before 1970
// is one at 1970.
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
