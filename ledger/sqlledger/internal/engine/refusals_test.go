package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe"
)

// TestRefusals: only what the database would refuse of every write counts, for a minute.
func TestRefusals(t *testing.T) {
	var r refusals
	now := lethe.Time(0).Add(refusalTime)
	r.note(now, nil)
	r.note(now, errors.New("of ours"))
	r.note(now, &pgconn.PgError{Code: "23505"})
	if why := r.lately(now); why != "" {
		t.Errorf("nothing was refused: %s", why)
	}
	r.note(now, fmt.Errorf("begin: %w", &pgconn.PgError{Code: "53100"}))
	if why := r.lately(now.Add(refusalTime - 1000)); why != "the disk of PostgreSQL is full: free some space there" {
		t.Errorf("within a minute: %q", why)
	}
	if why := r.lately(now.Add(refusalTime)); why != "" {
		t.Errorf("a minute later: %q", why)
	}
}
