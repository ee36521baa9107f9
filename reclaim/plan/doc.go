// Package plan is what a destructive command or routine would do, as a value: the
// items that it would take, each as it was seen, with totals and an estimate. A
// plan is written to a file line by line, read back the same way, and never held in
// memory as a whole.
//
// The package decides nothing and calls nothing. A planner reads by the conditions
// under which it acts. Applying a plan checks each item again in the transaction
// that acts on it.
package plan
