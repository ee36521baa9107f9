// Package sqladopt is adoption's work on the application's database: the
// transitions of its rows and contents, and Lethe's own tables beside them. One
// transition is one method and one transaction, guarded by the state it leaves and
// by its fence. Statements are written once; what a collection and a database call
// things is filled in (names.go).
package sqladopt
