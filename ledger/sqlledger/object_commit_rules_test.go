package sqlledger

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

func TestFullContentClosesAndASiblingOpens(t *testing.T) {
	db := openTest(t, Memory, ledger.Options{MaxRefs: 2})
	setUp(t, db)
	one, two, three := mustPut(t, db, "1", "d"), mustPut(t, db, "2", "d"), mustPut(t, db, "3", "d")
	if one.Object.ContentID != two.Object.ContentID || three.Object.ContentID == one.Object.ContentID || three.Duplicate {
		t.Errorf("%+v %+v %+v", one, two, three)
	}
	_, err := db.Commit(context.Background(), ledger.Commit{
		Op: "copy", Object: ledger.Object{Bucket: "b", Key: "4", Size: 100}, Source: &ledger.Source{Bucket: "b", Key: "1", ID: one.Object.ID},
	})
	if !errors.Is(err, lethe.ErrContentGone) {
		t.Error("a closed content was referenced:", err)
	}
	sound(t, db)
}

// TestSuspectContentIsRepaired: a content without a sound copy takes the new one
// as a replica, and is not referenced without bytes.
func TestSuspectContentIsRepaired(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, Memory, ledger.Options{})
	setUp(t, db)
	first := mustPut(t, db, "1", "d")
	blobs := segmentBlobs(t, db, "1")
	if n, err := db.MarkSuspect(ctx, []lethe.ID{blobs[0].ID}, "missing"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	bare := commitOf(db, "2", ledger.Uploaded{Size: 100, Digest: "d"})
	bare.Blobs = nil
	if _, err := db.Commit(ctx, bare); !errors.Is(err, lethe.ErrContentGone) {
		t.Error(err)
	}
	if c := mustPut(t, db, "2", "d"); c.Duplicate || c.Object.ContentID != first.Object.ContentID {
		t.Errorf("%+v", c)
	}
	blobs = segmentBlobs(t, db, "1")
	if len(blobs) != 2 || blobs[0].Suspect || blobs[0].Replica != 1 || !blobs[1].Suspect {
		t.Errorf("%+v", blobs)
	}
	if _, err := db.Commit(ctx, bare); err != nil {
		t.Error(err)
	}
	sound(t, db)
}

func segmentBlobs(t *testing.T, db *DB, key string) []ledger.Blob {
	t.Helper()
	r, err := db.Resolve(context.Background(), "b", key)
	if err != nil || len(r.Segments) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	return r.Segments[0].Blobs
}

// TestReapedIntentCannotCommit: a reaped intent stays reaped, and the failed commit leaves
// nothing.
func TestReapedIntentCannotCommit(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, Memory, ledger.Options{})
	setUp(t, db)
	old := mustPut(t, db, "k", "d1")
	for name, take := range map[string]func(lethe.ID) error{
		"abandoned": func(id lethe.ID) error { return db.Abandon(ctx, id, true) },
		"claimed": func(lethe.ID) error {
			_, err := db.ClaimIntents(ctx, ledger.ClaimRequest{Worker: "w", Limit: 10, MinAge: -time.Hour})
			return err
		},
	} {
		blob := lethe.RandomID(db.engine.HighestTime())
		if _, err := db.Begin(ctx, ledger.Intent{ID: blob, Backend: "disk", Size: 5}); err != nil {
			t.Fatal(err)
		}
		if err := take(blob); err != nil {
			t.Fatal(err)
		}
		c := commitOf(db, "k", ledger.Uploaded{Blob: blob, Size: 5, Digest: "d2"})
		_, err := db.Commit(ctx, c)
		_, found, lookup := db.Outcome(ctx, c.Op)
		if !errors.Is(err, lethe.ErrReaped) || found || lookup != nil {
			t.Error(name, err, found, lookup)
		}
		if !errors.Is(db.Beat(ctx, blob, 9), lethe.ErrReaped) || !errors.Is(db.Abandon(ctx, blob, false), lethe.ErrReaped) {
			t.Error(name, "blob is still its writer's")
		}
	}
	if r, err := db.Resolve(ctx, "b", "k"); err != nil || r.Object.ID != old.Object.ID {
		t.Errorf("%+v %v", r, err)
	}
	sound(t, db)
}

// TestRoomIsReserved: pending bytes count, grow with heartbeats, and free room only when
// they are gone.
func TestRoomIsReserved(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, Memory, ledger.Options{})
	if _, err := db.AddBackend(ctx, ledger.Backend{ID: "small", Quota: 100}); err != nil {
		t.Fatal(err)
	}
	begin := func(id lethe.ID, size int64) error {
		_, err := db.Begin(ctx, ledger.Intent{ID: id, Backend: "small", Size: size})
		return err
	}
	for _, c := range []struct {
		got, want error
	}{
		{begin("a", 60), nil}, {begin("b", 50), lethe.ErrNoRoom}, {begin("c", 40), nil},
		{db.Beat(ctx, "a", 61), lethe.ErrNoRoom}, {db.Beat(ctx, "a", 10), nil},
		{db.Abandon(ctx, "c", false), nil}, {begin("d", 1), lethe.ErrNoRoom},
		{func() error { _, err := db.Begin(ctx, ledger.Intent{ID: "e", Backend: "none"}); return err }(), lethe.ErrBackendMismatch},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	sound(t, db)
}

func TestBucketQuota(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, Memory, ledger.Options{})
	setUp(t, db)
	for _, c := range []struct {
		settings ledger.BucketSettings
		key      string
		want     error
	}{
		{ledger.BucketSettings{QuotaBytes: 150}, "1", nil},
		{ledger.BucketSettings{QuotaBytes: 150}, "2", lethe.ErrQuotaExceeded},
		{ledger.BucketSettings{QuotaBytes: 150}, "1", nil},
		{ledger.BucketSettings{QuotaBytes: 50}, "1", nil}, // no more than before
		{ledger.BucketSettings{QuotaObjects: 1}, "2", lethe.ErrQuotaExceeded},
		{ledger.BucketSettings{QuotaObjects: 2}, "2", nil},
	} {
		if _, err := db.ConfigureBucket(ctx, "b", c.settings, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := put(db, c.key, "d"); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c, err, c.want)
		}
	}
}

// TestEndings: requested time, default and maximum of a bucket.
func TestEndings(t *testing.T) {
	now := lethe.Time(1_000_000)
	at := now.Add
	for _, c := range []struct {
		settings ledger.BucketSettings
		wish     ledger.TTLChange
		want     lethe.Time
		err      error
	}{
		{ledger.BucketSettings{}, ledger.TTLChange{}, 0, nil},
		{ledger.BucketSettings{}, ledger.TTLChange{TTL: time.Hour}, at(time.Hour), nil},
		{ledger.BucketSettings{}, ledger.TTLChange{At: at(time.Hour)}, at(time.Hour), nil},
		{ledger.BucketSettings{}, ledger.TTLChange{TTL: -1}, 0, lethe.ErrInvalidTTL},
		{ledger.BucketSettings{DefaultTTL: time.Hour}, ledger.TTLChange{}, at(time.Hour), nil},
		{ledger.BucketSettings{DefaultTTL: time.Hour}, ledger.TTLChange{TTL: time.Minute}, at(time.Minute), nil},
		{ledger.BucketSettings{MaxTTL: time.Hour}, ledger.TTLChange{}, at(time.Hour), nil},
		{ledger.BucketSettings{MaxTTL: time.Hour}, ledger.TTLChange{TTL: time.Hour}, at(time.Hour), nil},
		{ledger.BucketSettings{MaxTTL: time.Hour}, ledger.TTLChange{TTL: time.Hour + time.Microsecond}, 0, lethe.ErrInvalidTTL},
		{ledger.BucketSettings{MaxTTL: time.Hour}, ledger.TTLChange{At: lethe.Forever}, 0, lethe.ErrInvalidTTL},
		{ledger.BucketSettings{MaxTTL: time.Hour, DefaultTTL: time.Minute}, ledger.TTLChange{}, at(time.Minute), nil},
		{ledger.BucketSettings{MaxTTL: time.Minute, DefaultTTL: time.Hour}, ledger.TTLChange{}, at(time.Minute), nil},
	} {
		b := ledger.Bucket{BucketSettings: c.settings}
		if got, err := b.EndOf(now, c.wish, b.DefaultTTL); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%+v: %v %v", c, got, err)
		}
	}
}
