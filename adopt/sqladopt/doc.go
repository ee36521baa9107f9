// Package sqladopt is the SQL side of package adopt: the transitions of an
// application's rows and contents, and Lethe's own tables in its database. One
// transition is one method and one transaction, conditional on the state it
// leaves and on its fence. Statements are written once; names and dialects are
// filled in (names.go). Calls to buckets and caches are not here.
package sqladopt
