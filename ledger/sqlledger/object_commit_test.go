package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func TestPutDeduplicatesAndDrops(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, Memory, ledger.Options{})
	setUp(t, db)
	one, two := mustPut(t, db, "one", "d1"), mustPut(t, db, "two", "d1")
	if one.Duplicate || !two.Duplicate || one.Object.ContentID != two.Object.ContentID {
		t.Fatalf("%+v\n%+v", one, two)
	}
	out, err := db.Delete(ctx, ledger.Deletion{Op: "op1", Bucket: "b", Items: []ledger.DeleteItem{{Key: "one"}, {Key: "none"}, {Key: "one"}, {Key: ""}}})
	if err != nil || len(out.Dropped) != 0 || !out.Items[0].Existed || out.Items[1].Existed || out.Items[2].Existed {
		t.Fatalf("%+v %v", out, err)
	}
	if !errors.Is(out.Items[3].Err, lethe.ErrInvalidKey) {
		t.Fatal(out.Items[3].Err)
	}
	over := mustPut(t, db, "two", "d2")
	if !over.Replaced || len(over.Dropped) != 1 || over.Dropped[0] != one.Object.ContentID {
		t.Fatalf("%+v", over)
	}
	r, err := db.Resolve(ctx, "b", "two")
	if err != nil || len(r.Segments) != 1 || len(r.Segments[0].Blobs) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	again := mustPut(t, db, "two", "d2")
	if !again.Duplicate || !again.Replaced || len(again.Dropped) != 0 {
		t.Fatalf("%+v", again)
	}
	sound(t, db)
}

func TestCommitAgainAnswersTheSame(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, Memory, ledger.Options{})
	setUp(t, db)
	blob := lethe.RandomID(1)
	if _, err := db.Begin(ctx, ledger.Intent{ID: blob, Backend: "disk", Size: 7}); err != nil {
		t.Fatal(err)
	}
	c := commitOf(db, "k", ledger.Uploaded{Blob: blob, Size: 7, Digest: "d"})
	first, err := db.Commit(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, lies := range []string{"the object", "another"} {
		again, err := db.Commit(ctx, c)
		if err != nil || again.Object.ID != first.Object.ID || again.Object.ModifiedAt != first.Object.ModifiedAt {
			t.Fatalf("while %s lies there: %+v %v", lies, again, err)
		}
		mustPut(t, db, "k", "other")
	}
	sound(t, db)
}

func BenchmarkPut(b *testing.B) {
	for _, parallel := range []int{1, 32} {
		b.Run(fmt.Sprint(parallel), func(b *testing.B) {
			db := openTest(b, filePath(b), ledger.Options{})
			setUp(b, db)
			b.SetParallelism(parallel)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					id := string(lethe.RandomID(db.engine.HighestTime()))
					if _, err := put(db, id, id); err != nil {
						b.Fatal(err)
					}
				}
			})
			s := db.Stats()
			b.ReportMetric(float64(s.Members)/float64(s.Commits), "members/commit")
		})
	}
}

func BenchmarkDelete1000(b *testing.B) {
	db := openTest(b, filePath(b), ledger.Options{})
	setUp(b, db)
	for b.Loop() {
		b.StopTimer()
		var items []ledger.DeleteItem
		for range 1000 {
			id := string(lethe.RandomID(db.engine.HighestTime()))
			if _, err := put(db, id, id); err != nil {
				b.Fatal(err)
			}
			items = append(items, ledger.DeleteItem{Key: id})
		}
		b.StartTimer()
		out, err := db.Delete(context.Background(), ledger.Deletion{Bucket: "b", Items: items})
		if err != nil || len(out.Dropped) != 1000 {
			b.Fatal(len(out.Dropped), err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	db := openTest(b, filePath(b), ledger.Options{})
	setUp(b, db)
	mustPut(b, db, "k", "d")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := db.Resolve(ctx, "b", "k"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
