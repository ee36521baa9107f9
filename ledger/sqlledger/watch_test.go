package sqlledger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// watching collects the transactions of a ledger.
type watching struct {
	mu   sync.Mutex
	list []Transaction
}

func (w *watching) watch(ctx context.Context, name string) (context.Context, func(Transaction)) {
	return ctx, func(t Transaction) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if t.Name != name {
			t.Name = "begun as " + name
		}
		w.list = append(w.list, t)
	}
}

// TestTransactionsAreWatched: every transaction, even a failed one, is reported by its
// method's name, without any data of the caller.
func TestTransactionsAreWatched(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB, engine string) {
		ctx, w := context.Background(), &watching{}
		db.OnTransactions(w.watch)
		moveThroughAll(t, db)
		if _, err := db.Bucket(ctx, "there-is-none"); !errors.Is(err, lethe.ErrNoSuchBucket) {
			t.Fatal(err)
		}
		names := map[string]int{}
		for _, x := range w.list {
			names[x.Name]++
			if x.Tries < 1 || x.Engine != engine {
				t.Errorf("%+v", x)
			}
			if missing := x.Name == "Bucket"; missing != errors.Is(x.Err, lethe.ErrNoSuchBucket) || missing && x.Write {
				t.Errorf("%+v", x)
			}
		}
		for _, want := range []string{"Begin", "Commit", "Delete", "ClaimCondemned", "Settle", "Abandon", "CreateBucket", "Bucket"} {
			if names[want] == 0 {
				t.Errorf("%s was not told of; told were %v", want, names)
			}
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := db.write(gone, "x", func(*tx) error { return nil }); err == nil {
			t.Error("a transaction of nobody ran")
		}
	})
}

// eachEngine runs a test on a fresh ledger of each engine that there is.
func eachEngine(t *testing.T, test func(*testing.T, *DB, string)) {
	t.Run("sqlite", func(t *testing.T) {
		db, err := Open(context.Background(), Memory, ledger.Options{ReadGrace: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		test(t, db, "sqlite")
	})
	t.Run("postgres", func(t *testing.T) { test(t, openServer(t, ledger.Options{ReadGrace: time.Microsecond}), "postgres") })
}

// TestTriesAreCounted: a transaction that runs again counts its tries.
func TestTriesAreCounted(t *testing.T) {
	db, w := openMemory(t), &watching{}
	db.OnTransactions(w.watch)
	refused := errors.New("refused")
	if err := db.write(context.Background(), "x", func(*tx) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(w.list, func(x Transaction) bool { return x.Name == "other" && x.Tries == 1 && x.Write }) {
		t.Errorf("%+v", w.list)
	}
}

// TestSeveralWatch: with several watches, the last one added is innermost.
func TestSeveralWatch(t *testing.T) {
	db := openMemory(t)
	var order []string
	watch := func(who string) Watch {
		return func(ctx context.Context, name string) (context.Context, func(Transaction)) {
			order = append(order, who+" before "+name)
			return ctx, func(t Transaction) { order = append(order, who+" after "+t.Name) }
		}
	}
	db.OnTransactions(watch("outer"))
	db.OnTransactions(watch("inner"))
	if _, err := db.AddBackend(context.Background(), ledger.Backend{ID: "disk"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"outer before AddBackend", "inner before AddBackend", "inner after AddBackend", "outer after AddBackend"}
	if !slices.Equal(order, want) {
		t.Errorf("called were %q, want %q", order, want)
	}
}

// TestATransactionNamesWhatItIsAbout: a transaction reports its operation and the blobs that
// it condemned, whether it succeeds or not.
func TestATransactionNamesWhatItIsAbout(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB, _ string) {
		w := &watching{}
		db.OnTransactions(w.watch)
		moveThroughAll(t, db)
		recorded, condemned := 0, 0
		for _, x := range w.list {
			if x.Name == "Commit" && x.Op != "" {
				recorded++
			}
			for _, b := range x.Condemned {
				condemned++
				if b.ID == "" || b.Backend == "" {
					t.Errorf("%s condemned %+v", x.Name, b)
				}
			}
		}
		if recorded == 0 || condemned == 0 {
			t.Errorf("%d commits with an operation, %d blobs condemned: %+v", recorded, condemned, w.list)
		}
	})
}
