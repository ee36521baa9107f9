// Package memadopt is an application's database in memory: the rows and contents
// of one collection, Lethe's marks beside them, and the application's own
// transactions. Each method is one transaction, by one clock. It keeps the contracts
// of package adopt as sqladopt does, the guard included, for tests and the
// simulation.
package memadopt
