// Package usage counts what buckets store: by prefix, size, age and end, what sharing saves,
// and what goes on which day. A Walk reads a bucket page by page in the order of its keys,
// in bounded memory. The routine that keeps summaries is in package routine.
package usage
