package sqladopt

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// What waits to be deleted for good is counted on every database.
func TestNearing(t *testing.T) {
	for name, c := range map[string]*Collection{
		"SQLite": newLiteSite(t, liteKind{}).Collection, "MariaDB": newMySQLSite(t, servers.MariaDB(t), mysqlKind{}).Collection,
		"PostgreSQL": newSite(t, servers.Postgres(t), kind{}).Collection,
	} {
		q := c.Quarantine()
		if n, err := q.Nearing(t.Context(), time.Hour); err != nil || n != (Nearing{}) {
			t.Errorf("%s, empty: %+v, %v", name, n, err)
		}
		var keys []string
		for _, retention := range []time.Duration{time.Minute, time.Hour * 3} {
			key := adopttest.ObjectOf(retention.String())
			begun, err := q.Begin(t.Context(), []adopt.FoundObject{{Key: key, Copy: "kept/" + key, Size: 7, Tag: "1"}}, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := q.Moved(t.Context(), begun.Fence, []string{key}, adopt.Terms{Retention: retention, Late: time.Minute}); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		page, err := q.Page(t.Context(), "", 9)
		if err != nil || len(page.Objects) != len(keys) {
			t.Fatal(page, err)
		}
		first := min(page.Objects[0].Until, page.Objects[1].Until)
		if n, err := q.Nearing(t.Context(), time.Hour); err != nil || n != (Nearing{Waits: 2, First: first, Soon: 1, Within: time.Hour}) {
			t.Errorf("%s: %+v, %v, want the first at %s", name, n, err, first)
		}
	}
}
