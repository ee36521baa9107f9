package sqlledger

import (
	"database/sql"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var readViews = register(`SELECT 'location', object_key, backend_name, created_at FROM object_locations
	UNION ALL SELECT 'copy of ' || bucket_name || '/' || client_key, object_key, backend_name, modified_at FROM object_copies
	UNION ALL SELECT 'queued for ' || reason, object_key, backend_name, created_at FROM cleanup_queue
	UNION ALL SELECT 'intent', object_key, backend_name, created_at FROM pending_objects
	ORDER BY 1, 2`)

// TestViews: the views show names as they are on the backend, and instants as the
// database writes them.
func TestViews(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { views(t, newLedger(t).DB) })
	t.Run("postgres", func(t *testing.T) {
		db := openServer(t, ledger.Options{})
		setUp(t, db)
		views(t, db)
	})
}

func views(t *testing.T, db *DB) {
	mustPut(t, db, "k", "first")
	mustPut(t, db, "k", "second")
	store, err := db.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ what, key, backend, at string }
	var rows []row
	err = db.read(t.Context(), "views", func(x *tx) error {
		rows, err = all(x, func(r *sql.Rows) (o row, err error) {
			err = r.Scan(&o.what, &o.key, &o.backend, &o.at)
			return o, err
		}, readViews)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"copy of b/k", "location", "queued for overwrite"}
	if len(rows) != len(want) {
		t.Fatalf("%+v", rows)
	}
	for i, r := range rows {
		if id, ok := lethe.ParseBlobKey(store.ID, r.key); r.what != want[i] || !ok || id == "" || r.backend == "" || len(r.at) < 20 || r.at[4] != '-' {
			t.Errorf("%+v, want %s", r, want[i])
		}
	}
}
