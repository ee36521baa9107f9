package sqladopt

import (
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// A plan names what a run would take: not the object that a row names again, as an application
// does that deletes and inserts a row to change it.
func TestPlanOfWhatIsNamedAgain(t *testing.T) {
	for name, s := range map[string]ownerSite{"PostgreSQL": newPostgresOwner(t, servers.Postgres(t), false), "SQLite": newSQLiteOwner(t, false)} {
		for _, key := range []string{"again", "gone"} {
			if err := s.Insert(t.Context(), key, key, adopttest.Never); err != nil {
				t.Fatal(err)
			}
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Insert(t.Context(), "again", "again", adopttest.Never); err != nil {
			t.Fatal(err)
		}
		s.Pass(adopt.DefaultGrace.Unreferenced + time.Second)
		var planned, marked []string
		if err := s.Going(t.Context(), func(p Planned) error { planned = append(planned, p.Object); return nil }); err != nil {
			t.Fatal(err)
		}
		m, err := s.Mark(t.Context(), adopt.MarkRequest{Limit: 10, Late: adopt.DefaultGrace.Late})
		for _, c := range m.Contents {
			marked = append(marked, c.Object)
		}
		if err != nil || len(marked) != 1 || !slices.Equal(planned, marked) {
			t.Errorf("on %s a plan names %q, and a run takes %q, %v", name, planned, marked, err)
		}
	}
}
