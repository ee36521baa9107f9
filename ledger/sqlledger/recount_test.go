package sqlledger

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// TestRecountFinds: for each rule there is a damage that it finds.
func TestRecountFinds(t *testing.T) {
	for damage, want := range map[string]string{
		`UPDATE contents SET refs = refs + 1`:                                        "refs",
		`UPDATE blob_counters SET bytes = bytes + 1 WHERE state = 2`:                 "blob counter",
		`UPDATE blob_counters SET n = n - 1 WHERE state = 3`:                         "blob counter",
		`UPDATE bucket_counters SET n = n + 1`:                                       "bucket counter",
		`UPDATE objects SET size = 99 WHERE key = 'k'`:                               "object size",
		`UPDATE trash SET size = 99`:                                                 "trash size",
		`UPDATE contents SET domain = 'mallory' WHERE kind = 'whole'`:                "dedup domain",
		`UPDATE trash SET purge_at = 9223372036854775807`:                            "deferred",
		`UPDATE objects SET due_at = NULL WHERE key = 'k'`:                           "due time",
		`UPDATE objects SET ttl_at = ttl_at + 1 WHERE key = 'k'`:                     "due time",
		`UPDATE blobs SET content_id = 'gone' WHERE state = 2 AND upload_id IS NULL`: "owner of a live blob",
		`UPDATE blobs SET part = 9 WHERE state = 2 AND upload_id IS NOT NULL`:        "owner of a live blob",
		`DELETE FROM parts`: "owner of a live blob",
		`UPDATE blobs SET content_id = (SELECT min(id) FROM contents) WHERE state = 3`: "condemned blob of a referenced content",
		`UPDATE blobs SET segment = 5 WHERE state = 2 AND content_id IS NOT NULL`:      "segments",
		`UPDATE blobs SET size = 7 WHERE state = 2 AND content_id IS NOT NULL`:         "segments",
		`UPDATE blobs SET state = 4 WHERE state = 2`:                                   "segments",
		`UPDATE blobs SET digest = 'other' WHERE state = 2 AND content_id IS NOT NULL`: "digest",
		`UPDATE contents SET digest = 'other' WHERE kind = 'multipart'`:                "digest",
		`UPDATE blobs SET size = 9 WHERE state = 2 AND upload_id IS NOT NULL`:          "part",
		`UPDATE parts SET blob_id = NULL`:                                              "part",
		`UPDATE promotions SET blob_id = (SELECT min(id) FROM blobs WHERE state = 2)`:  "promotion",
		`UPDATE blobs SET reason = 'delete' WHERE state = 2`:                           "state",
		`UPDATE blobs SET due_at = 0 WHERE state = 3`:                                  "state",
		`UPDATE blobs SET content_id = 'x' WHERE state = 1`:                            "state",
		`UPDATE blobs SET fence = 99, claimed_at = 1 WHERE state = 3`:                  "claim",
		`UPDATE blobs SET fence = 0, claimed_at = 1 WHERE state = 3`:                   "claim",
		`UPDATE blobs SET block = 1 WHERE state = 2`:                                   "blocks",
		`INSERT INTO blocks (blob_id, first_no, sums) SELECT id, 0, '1234' FROM blobs`: "blocks",
		`INSERT INTO blocks (blob_id, first_no, sums) VALUES ('gone', 0, '1234')`:      "blocks",
		`UPDATE blobs SET block = size WHERE state = 2;
			INSERT INTO blocks (blob_id, first_no, sums) SELECT id, 0, '12345678' FROM blobs WHERE state = 2`: "blocks",
		`UPDATE blobs SET content_id = (SELECT min(id) FROM contents WHERE kind = 'whole'), upload_id = NULL
			WHERE state = 2 AND upload_id IS NOT NULL`: "copies of a segment",
	} {
		t.Run(damage, func(t *testing.T) {
			if found := recountAfter(t, damage); !slices.Contains(found, want) {
				t.Errorf("found %v, want %q", found, want)
			}
		})
	}
}

// recountAfter fills a ledger with a row of every kind, damages it, and returns the rules
// found broken.
func recountAfter(t *testing.T, damage string) []string {
	l := &fixture{t: t, ctx: context.Background(), clock: newTestClock()}
	l.DB = openTest(t, Memory, ledger.Options{Clock: l.clock})
	l.DB.recountPage = 1
	setUp(t, l.DB)
	l.putTTL("k", "d", time.Hour)
	l.putTTL("gone", "e", 0)
	l.remove("gone")
	l.undo()
	l.putTTL("trash", "f", 0)
	l.remove("trash")
	_, err := l.Complete(l.ctx, l.parts(l.upload("m", 0), 2))
	l.ok(err)
	u := l.upload("open", 0)
	l.part(u.ID, 1, 100, "p")
	l.promise("p", "q")
	sound(t, l.DB)
	l.ok(l.write(l.ctx, "damage", func(x *tx) error {
		n, err := x.Exec(damage)
		if err == nil && n == 0 {
			t.Error("no damage done")
		}
		return err
	}))
	list, err := l.Recount(l.ctx)
	l.ok(err)
	var found []string
	for _, d := range list {
		if d.Name == "" || d.Want == d.Have {
			t.Errorf("says nothing: %+v", d)
		}
		found = append(found, d.What)
	}
	return found
}

// TestRecountDigests: the segments of composed contents are put together one by
// one.
func TestRecountDigests(t *testing.T) {
	l := newLedger(t)
	for _, key := range []string{"a", "b", "c"} {
		u := l.upload(key, 0)
		_, err := l.Complete(l.ctx, l.completion(u, l.part(u.ID, 1, 10, key), l.part(u.ID, 2, 20, "same")))
		l.ok(err)
	}
	if n, _ := l.total(lethe.Live); n != 6 {
		t.Fatalf("%d live", n)
	}
	sound(t, l.DB)
}

// TestRecountAfterALostConnection: a page whose read broke off is read again, not passed over.
func TestRecountAfterALostConnection(t *testing.T) {
	db := openServer(t, ledger.Options{})
	db.recountPage = 2
	setUp(t, db)
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		mustPut(t, db, key, "digest of "+key)
	}
	pages, seen := 0, 0
	r := bookRule{what: "seen", query: seenContents, pages: contentPages, by: func(rows *sql.Rows) ([]ledger.Discrepancy, error) {
		n := 0
		for rows.Next() {
			n++
		}
		if pages++; pages%2 == 1 {
			return nil, sqldb.ErrAgain
		}
		seen += n
		return make([]ledger.Discrepancy, n), rows.Err()
	}}
	if found, err := db.broken(t.Context(), r); err != nil || seen != 5 || len(found) != 5 {
		t.Errorf("%d of 5 contents were looked at, %d came back: %v", seen, len(found), err)
	}
}

var seenContents = register(`SELECT id FROM contents WHERE id > ?1 AND id <= ?2`)

// TestRecountBesideWriters: the recount finds nothing, whatever is written between two of
// its pages.
func TestRecountBesideWriters(t *testing.T) {
	l := &fixture{t: t, ctx: context.Background(), clock: newTestClock()}
	l.DB = openTest(t, filePath(t), ledger.Options{Clock: l.clock}, NoSync())
	l.DB.recountPage = 2
	setUp(t, l.DB)
	done, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-done:
				stopped <- nil
				return
			default:
			}
			key := string(rune('a' + i%7))
			if i%3 == 2 {
				_, err = l.Delete(l.ctx, ledger.Deletion{Op: l.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: key}}})
			} else {
				_, err = put(l.DB, key, "digest-"+string(rune('a'+i%5)))
			}
		}
		stopped <- err
	}()
	for range 20 {
		sound(t, l.DB)
	}
	close(done)
	l.ok(<-stopped)
}

// TestTallyFinds: a counter that is wrong differs from the rows, in its state and
// by its amount only.
func TestTallyFinds(t *testing.T) {
	for damage, want := range map[string]ledger.Tally{
		`UPDATE blob_counters SET bytes = bytes + 5 WHERE state = 3`: {State: lethe.Condemned, Rows: 1, Counted: 1},
		`UPDATE blob_counters SET n = n - 1 WHERE state = 3`:         {State: lethe.Condemned, Rows: 1},
		`DELETE FROM blob_counters WHERE state = 3`:                  {State: lethe.Condemned, Rows: 1},
	} {
		db := openTest(t, Memory, ledger.Options{Clock: newTestClock()})
		setUp(t, db)
		mustPut(t, db, "k", "first")
		mustPut(t, db, "k", "second")
		before, err := db.TallyOrphans(t.Context())
		if err != nil || len(before) != 1 || !before[0].Agrees() || before[0].Rows != 1 || before[0].RowBytes == 0 {
			t.Fatalf("before: %+v %v", before, err)
		}
		err = db.write(t.Context(), "damage", func(x *tx) error {
			_, err := x.Exec(damage)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.TallyOrphans(t.Context())
		if err != nil || len(got) != 1 || got[0].Agrees() || got[0].State != want.State || got[0].Rows != want.Rows || got[0].Counted != want.Counted {
			t.Errorf("%s: %+v %v", damage, got, err)
		}
	}
}

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
