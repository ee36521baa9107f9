package sqladopt

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe/adopt/adopttest"
)

// stateOf returns the state of a paste from its status and content.
func stateOf(key string, scan func(dest ...any) error) (adopttest.State, error) {
	var status string
	var content *string
	err := scan(&status, &content)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return adopttest.Absent, nil
	case err != nil:
		return 0, err
	case status == "DELETED" && content != nil:
		return 0, fmt.Errorf("row %s is deleted and names content %s", key, *content)
	}
	return map[string]adopttest.State{
		"NOT_EXPIRED": adopttest.Live, "DELETION_IN_PROGRESS": adopttest.Claimed, "DELETED": adopttest.Deleted,
	}[status], nil
}

// countOf returns the count of a content, and whether it exists.
func countOf(scan func(dest ...any) error) (n int64, there bool, err error) {
	err = scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}
