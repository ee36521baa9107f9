// Package bench measures: what reclaiming costs beside the machine's own limit,
// what serving costs beside other gateways, how the one disturbs the other, and
// how much memory a large object takes. docs/performance.md has the commands and
// what they printed.
//
// Times depend on the machine and are only reported. What is counted (calls,
// flushes, transactions, pages per object) does not, and tests hold it.
package bench
