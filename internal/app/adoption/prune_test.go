package adoption

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Old runs are deleted; the newest success of a routine stays, since exclusive
// runs depend on it.
func TestPrune(t *testing.T) {
	s := newSite(t)
	s.removes(0, 0)
	conn, err := pgx.Connect(t.Context(), s.Description.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const day = "86400000000"
	const now = "CAST(extract(epoch FROM now()) * 1000000 AS bigint)"
	for _, text := range []string{
		`DELETE FROM lethe.runs`,
		`INSERT INTO lethe.runs (id, routine, worker, started_at, beat_at, finished_at, outcome) SELECT r.id, r.routine, 'w', ` + now + ` - r.age * ` + day + `, 1, r.finished, r.outcome
			FROM (VALUES ('old', 'a', 40, 1, 'ok'), ('newest', 'a', 35, 1, 'ok'), ('failed', 'a', 36, 1, 'failed: x'), ('going', 'a', 50, 0, ''), ('alone', 'b', 99, 1, 'ok'), ('young', 'a', 29, 1, 'interrupted')) AS r(id, routine, age, finished, outcome)`,
	} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.DB.Prune(t.Context(), 30*24*time.Hour, 100); err != nil || n != 2 {
		t.Errorf("%d were pruned, %v, want 2", n, err)
	}
	var left string
	if err := conn.QueryRow(t.Context(), `SELECT string_agg(id, ' ' ORDER BY id) FROM lethe.runs`).Scan(&left); err != nil || left != "alone going newest young" {
		t.Errorf("runs %q are left, %v", left, err)
	}
}
