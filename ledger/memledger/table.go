package memledger

import (
	"slices"
	"sort"
)

// table is an ordered index of rows. The order must be total, and the values compared must
// not change while the row is in the table.
type table[T any] struct {
	order func(a, b T) int
	rows  []T
}

// put adds a row.
func (t *table[T]) put(row T) {
	if n := len(t.rows); n == 0 || t.order(t.rows[n-1], row) < 0 {
		t.rows = append(t.rows, row)
		return
	}
	i, _ := slices.BinarySearchFunc(t.rows, row, t.order)
	t.rows = slices.Insert(t.rows, i, row)
}

// drop removes a row, if it is there.
func (t *table[T]) drop(row T) {
	if i, ok := slices.BinarySearchFunc(t.rows, row, t.order); ok {
		t.rows = slices.Delete(t.rows, i, i+1)
	}
}

// from returns the rows from the first for which reached is true. reached must be monotonic
// in the order. The slice is valid until the next change.
func (t *table[T]) from(reached func(T) bool) []T {
	return t.rows[t.index(reached):]
}

// until returns the rows before the first for which reached is true.
func (t *table[T]) until(reached func(T) bool) []T {
	return t.rows[:t.index(reached)]
}

func (t *table[T]) index(reached func(T) bool) int {
	return sort.Search(len(t.rows), func(i int) bool { return reached(t.rows[i]) })
}

// first returns the first n rows; all of them if n is 0 or less.
func first[T any](rows []T, n int) []T {
	if n > 0 && n < len(rows) {
		return rows[:n]
	}
	return rows
}

// between returns the rows from the first for which begun is true to the last
// before ended is true.
func (t *table[T]) between(begun, ended func(T) bool) []T {
	i, j := t.index(begun), t.index(ended)
	return t.rows[i:max(i, j)]
}
