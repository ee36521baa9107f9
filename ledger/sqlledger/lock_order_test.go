package sqlledger

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestLocksAreTakenInOrder: a transaction that waits for a row has locked none that comes later
// in the order of docs/protocol.md, rule 16. Another one may have the first and need the second.
func TestLocksAreTakenInOrder(t *testing.T) {
	all := ordersOfWrites()
	maps.Copy(all, ordersOfBatches())
	for name, prepare := range all {
		t.Run(name, func(t *testing.T) {
			clock := newTestClock()
			l := &fixture{DB: openServerAt(t, servers.Postgres(t), ledger.Options{Clock: clock}), t: t, ctx: context.Background(), clock: clock}
			setUp(t, l.DB)
			first, second, fn := prepare(l)
			l.waitsInOrder(first, second, fn)
		})
	}
}

// takes makes rows, and returns two that fn locks one after the other.
type takes func(l *fixture) (first, second string, fn func() error)

func ordersOfWrites() map[string]takes {
	return map[string]takes{
		"Complete": func(l *fixture) (string, string, func() error) {
			u, err := l.CreateUpload(l.ctx, ledger.Upload{Bucket: "b", Key: "m"})
			l.ok(err)
			p, err := l.CommitPart(l.ctx, ledger.PartCommit{Part: ledger.Part{UploadID: u.ID, Number: 1, ETag: "e", BlobID: ""}})
			l.ok(err)
			c := ledger.Completion{Op: l.id(), UploadID: u.ID, Bucket: "b", Key: "m", Parts: []ledger.PartName{{Number: 1, ETag: p.ETag}}}
			return "buckets", "uploads", func() error { _, err := l.Complete(l.ctx, c); return err }
		},
		"Restore": func(l *fixture) (string, string, func() error) {
			_, err := l.ConfigureBucket(l.ctx, "b", ledger.BucketSettings{Undo: time.Hour}, nil)
			l.ok(err)
			l.putTTL("k", "digest", 0)
			l.remove("k")
			e, err := l.Trash(l.ctx, ledger.TrashQuery{})
			l.ok(err)
			return "buckets", "trash", func() error { _, err := l.Restore(l.ctx, l.id(), e[0].ID, false); return err }
		},
		"Commit": func(l *fixture) (string, string, func() error) {
			l.putTTL("k", "digest", 0)
			c := l.promised("p", "digest")
			return "promotions", "contents", func() error { _, err := l.Commit(l.ctx, c); return err }
		},
		"Abandon": func(l *fixture) (string, string, func() error) {
			c := l.promised("p", "digest")
			return "promotions", "blobs", func() error { return l.Abandon(l.ctx, c.Blobs[0].Blob, false) }
		},
	}
}

// ordersOfBatches are of transactions that lock several rows of a kind.
func ordersOfBatches() map[string]takes {
	return map[string]takes{
		"Delete": func(l *fixture) (string, string, func() error) {
			c := commitOf(l.DB, "idle", ledger.Uploaded{Blob: l.begin(100), Size: 100, Digest: "idle"})
			c.Object.IdleFor = time.Hour
			_, err := l.Commit(l.ctx, c)
			l.ok(err)
			l.promised("p", "digest")
			l.clock.Advance(2 * time.Hour)
			return "objects", "promotions", func() error {
				_, err := l.Delete(l.ctx, ledger.Deletion{Op: l.id(), Bucket: "b", Items: []ledger.DeleteItem{{Key: "idle"}, {Key: "p"}}})
				return err
			}
		},
		"ReturnDeferred": func(l *fixture) (string, string, func() error) {
			_, err := l.ConfigureBucket(l.ctx, "b", ledger.BucketSettings{Undo: time.Hour}, nil)
			l.ok(err)
			l.putTTL("k", "digest", 0)
			l.remove("k")
			l.putTTL("k", "digest", time.Minute)
			hold := ledger.Hold{Bucket: "b", Scope: ledger.HoldObject, Key: "k", By: "a test"}
			_, err = l.AddHold(l.ctx, hold)
			l.ok(err)
			l.clock.Advance(2 * time.Hour)
			_, err = l.Expire(l.ctx, ledger.Batch{Limit: 10})
			l.ok(err)
			_, err = l.Purge(l.ctx, ledger.Batch{Limit: 10})
			l.ok(err)
			l.ok(l.ReleaseHold(l.ctx, hold))
			return "trash", "objects", func() error { _, err := l.ReturnDeferred(l.ctx, 10); return err }
		},
		"ReapplyRules": func(l *fixture) (string, string, func() error) {
			l.putTTL("k1", "digest", 0)
			l.putTTL("k2", "digest", 0)
			_, err := l.ConfigureBucket(l.ctx, "b", ledger.BucketSettings{QuotaObjects: 9, Evict: ledger.Eviction{Order: ledger.EvictByRead, High: 90, Low: 80}}, nil)
			l.ok(err)
			_, err = l.SetRules(l.ctx, ledger.RulesChange{Bucket: "b", By: "a test", Rules: lifecycle.Rules{{ID: "r", Prefix: "k2", Days: 1}}})
			l.ok(err)
			return "objects WHERE key = 'k1'", "objects WHERE key = 'k2'", func() error { _, err := l.ReapplyRules(l.ctx, 10); return err }
		},
	}
}

// promised begins a write that a reaper may finish, and returns its commit.
func (l *fixture) promised(key, digest string) ledger.Commit {
	l.t.Helper()
	c := commitOf(l.DB, key, ledger.Uploaded{Blob: l.id(), Size: 100, Digest: digest})
	_, err := l.Begin(l.ctx, ledger.Intent{ID: c.Blobs[0].Blob, Backend: "disk", Size: 100, Promotion: &ledger.Promotion{Commit: c}})
	l.ok(err)
	return c
}

// waitsInOrder locks the first row until fn waits for it, and then tries to lock the second.
func (l *fixture) waitsInOrder(first, second string, fn func() error) {
	l.t.Helper()
	pool := l.engine.Server.Runners[engine.Request].Pool
	tx, err := pool.BeginTx(l.ctx, nil)
	l.ok(err)
	defer tx.Rollback()
	var me int
	l.ok(tx.QueryRow(`SELECT pg_backend_pid() FROM ` + first + ` FOR UPDATE`).Scan(&me))
	ended := make(chan error, 1)
	go func() { ended <- fn() }()
	l.waitFor(me, ended)
	if err := tx.QueryRow(`SELECT 1 FROM ` + second + ` FOR UPDATE NOWAIT`).Scan(new(int)); err != nil {
		l.t.Errorf("who waits for %s has %s: %v", first, second, err)
	}
	l.ok(tx.Rollback())
	l.ok(<-ended)
}

// waitFor returns once a transaction waits for that of a server's process. It asks on another
// connection: a transaction keeps seeing the activity that it saw first.
func (l *fixture) waitFor(process int, ended chan error) {
	l.t.Helper()
	for waits := false; !waits; {
		select {
		case err := <-ended:
			l.t.Fatalf("it did not wait: %v", err)
		default:
		}
		l.ok(l.engine.Server.Runners[engine.Request].Pool.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))`, process).Scan(&waits))
	}
}
