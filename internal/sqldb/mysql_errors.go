package sqldb

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/lethe-storage/lethe"
)

// mysqlCode returns the number of an error of MariaDB or MySQL, 0 if it has
// none.
func mysqlCode(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// Error numbers with a meaning of their own.
const (
	mysqlLockWait  = 1205
	mysqlDeadlock  = 1213
	mysqlDuplicate = 1062
	mysqlNoTable   = 1146
	mysqlChanged   = 1020 // MariaDB: a snapshot is older than the row
)

// mysqlNoDatabase: the user has no rights in the database, or lacks LOCK TABLES.
const mysqlNoDatabase = 1044

// mysqlDenied: a right is missing on a table, a column, the server or a routine.
var mysqlDenied = []uint16{1142, 1143, 1227, 1370}

// mysqlTooLong: a statement was interrupted, as it took longer than it may.
var mysqlTooLong = []uint16{1317, 1969, 3024}

// mysqlContended are errors of transactions that lost a conflict.
var mysqlContended = []uint16{mysqlDeadlock, mysqlDuplicate, mysqlChanged}

// mysqlObjections: a foreign key, a check, or a SIGNAL of a trigger.
var mysqlObjections = []uint16{1048, 1451, 1452, 3819, 4025, 1644}

// mysqlRaised are the classes of states of a SIGNAL, and of a trigger's value that does not fit.
var mysqlRaised = []string{"45", "22"}

// mysqlFatal are errors after which the server closes the connection.
var mysqlFatal = []uint16{
	1053, // shutdown in progress
	1927, // MariaDB: the connection was killed
	3169, // MySQL: the session was killed
	4031, // MySQL: it was idle for too long
}

// mysqlAdvice is what an operator should know, by error number.
var mysqlAdvice = []struct {
	numbers []uint16
	kind    error
	text    string
}{
	{[]uint16{1040, 1203, 1226}, lethe.ErrUnavailable, "the server takes no more connections: raise max_connections or lower the pools"},
	{[]uint16{1045, 1698}, lethe.ErrUnavailable, "the server refuses the user: check name, password and host"},
	{[]uint16{mysqlNoDatabase}, lethe.ErrUnavailable, "the user has no rights in the database: grant it some, or check the database's name"},
	{[]uint16{1049}, lethe.ErrUnavailable, "the server has no such database: create it"},
	{mysqlDenied, lethe.ErrUnavailable, "the user of the database lacks a privilege"},
	{[]uint16{1418, 1419}, lethe.ErrUnavailable, "the server logs changes, and takes triggers and functions only with log_bin_trust_function_creators = 1, or from who has SUPER"},
	{[]uint16{mysqlNoTable}, lethe.ErrUnavailable, "a table is not there: was it dropped?"},
	{[]uint16{1290, 1792, 1836}, lethe.ErrUnavailable, "this connection may only read: a query must not write or lock rows, and of a replica give the URL of the primary"},
	{[]uint16{1021, 1114}, lethe.ErrUnavailable, "the disk of the server is full: free some space there"},
	{[]uint16{mysqlLockWait}, lethe.ErrUnavailable, "another transaction held the rows for too long"},
	{mysqlContended, lethe.ErrUnavailable, "other transactions were faster each time"},
	{mysqlTooLong, lethe.ErrUnavailable, "a statement took longer than it may, or was killed"},
	{mysqlFatal, lethe.ErrUnavailable, "the connection was ended by the server"},
	{[]uint16{1048, 1451, 1452, 3819, 4025}, lethe.ErrCorrupt, "rows contradict each other"},
	{[]uint16{126, 127, 145, 1034, 1194, 1712}, lethe.ErrCorrupt, "the server found its own data damaged"},
	{[]uint16{1300, 1366, 1406}, lethe.ErrInvalidKey, "a value does not fit its column: keys may have 2,800 bytes"},
	{[]uint16{1153}, lethe.ErrUnavailable, "a statement is longer than max_allowed_packet: raise it, or lower batch"},
}

// mapMySQLError is MapError for MariaDB and MySQL.
func mapMySQLError(err error) error {
	code := mysqlCode(err)
	for _, a := range mysqlAdvice {
		if slices.Contains(a.numbers, code) {
			return fmt.Errorf("%s: %w (%w)", a.text, a.kind, err)
		}
	}
	return err
}
