// Package sqladopt is the SQL side of package adopt: the transitions of an
// application's rows and contents, and Lethe's own tables in its database. One
// transition is one method and one transaction, conditional on the state it
// leaves and on its fence. Statements are written once; names and dialects are
// filled in (names.go). Calls to buckets and caches are not here.
//
// engine.go is what differs between databases: postgres.go, mysql.go and sqlite.go
// implement it, with catalog_*.go (the schema), guard_*.go (triggers) and rights_*.go.
// Rows: claim.go, settle.go, end.go, cached.go; take.go without a status. Contents:
// contents.go, confirm.go, references.go, recount.go, quarantine.go; owned.go for objects
// of rows. The other kinds: folders.go and keys.go. check*.go compare a description with
// the database. runs.go, seals.go, holds.go, meaning.go and troubles.go keep Lethe's own tables;
// planned.go, heldabove.go and explain*.go read for plans and explanations.
package sqladopt
