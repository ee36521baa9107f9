// Package memadopt is an application's database in memory: the rows and
// contents of one collection, Lethe's marks, and the application's own
// transactions. Each method is one transaction, with one clock. It fulfils the
// contracts of package adopt as sqladopt does, the guard included, for tests
// and the simulation (test/adoptsim).
package memadopt
