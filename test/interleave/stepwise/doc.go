// Package stepwise runs clients of a PostgreSQL beside each other, one statement at a
// time, for tests. Each client is an actor with connections of its own through a gate,
// a proxy that speaks the protocol of PostgreSQL and holds every statement, BEGIN and
// COMMIT included, until the schedule lets it pass. Whoever waits for a lock is seen in
// pg_locks, and waits on while others are let pass.
//
// Runner is the gates and runs schedules, and Rows puts back and compares what tables
// hold. TestPairs runs pairs of actions with every interruption of the one by the other,
// and TestMutants sees that they show each mutant.
package stepwise
