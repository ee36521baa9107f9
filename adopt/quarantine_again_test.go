package adopt_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// stalled is a worker's bucket in which something happens between the delete of
// objects and its confirmation.
type stalled struct {
	adopt.Deleter
	meanwhile func()
}

func (s *stalled) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	results, err := s.Deleter.Delete(ctx, keys)
	if then := s.meanwhile; then != nil {
		s.meanwhile = nil
		then()
	}
	return results, err
}

// Without a guard an application refers to an object for a while, and the
// worker that has just moved it takes it for gone. It is moved nevertheless,
// however it came back.
func TestAnObjectThatCameBackBehindItsWorkerGoes(t *testing.T) {
	const text = "some bytes"
	x := memadopt.Content{Key: "x", Object: "content/x"}
	for name, comesBack := range map[string]func(r *mover){
		"it was copied back, and its row expired": func(r *mover) {
			r.must(r.db.Create("again", x, r.now.now.Add(time.Second)))
			r.pass(r.q)
			r.expire()
		},
		"it was copied back, and its row was removed": func(r *mover) {
			r.must(r.db.Create("again", x, 0))
			r.pass(r.q)
			r.must(r.db.Delete("again"))
		},
		"it was uploaded again, and its row expired": func(r *mover) {
			r.objects.bytes["x"] = text
			r.must(r.db.Create("again", x, r.now.now.Add(time.Second)))
			r.expire()
		},
		"it was uploaded again, and its row was removed": func(r *mover) {
			r.objects.bytes["x"] = text
			r.must(r.db.Create("again", x, 0))
			r.must(r.db.Delete("again"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newMover(t)
			r.objects.bytes["x"] = text
			r.must(r.db.Create("a", x, r.now.now.Add(time.Second)))
			r.expire()
			r.bucket.meanwhile = func() {
				comesBack(r)
				if r.objects.bytes["x"] != text {
					t.Error("it did not come back")
				}
			}
			for range 4 {
				r.now.now = r.now.now.Add(time.Hour)
				r.pass(r.clean)
				r.pass(r.q)
			}
			if s := r.db.Snapshot(); len(r.objects.bytes)+len(r.copies.bytes)+len(s.Contents)+len(s.Marks)+len(s.Moved) > 0 {
				t.Errorf("left are %v, %v and %+v", r.objects.bytes, r.copies.bytes, s)
			}
		})
	}
}

// One object that cannot be looked at, as the application has encrypted it with a key of its
// own, does not keep others from being copied back.
func TestRestoresBesideWhatCannotBeLookedAt(t *testing.T) {
	r := newMover(t)
	for _, key := range []string{"a", "b"} {
		x := memadopt.Content{Key: key, Object: "content/" + key}
		r.objects.bytes[key] = "bytes of " + key
		r.must(r.db.Create("of "+key, x, r.now.now.Add(time.Second)))
	}
	r.expire()
	r.now.now = r.now.now.Add(time.Hour)
	r.pass(r.clean)
	for _, key := range []string{"a", "b"} {
		r.must(r.db.Create("again "+key, memadopt.Content{Key: key, Object: "content/" + key}, 0))
	}
	failed := ""
	r.q.Events = &adopt.Events{Failed: func(_ string, n int, why string) { failed = fmt.Sprint(n, why) }}
	r.objects.bytes["a"], r.objects.odd = "other bytes", "a"
	r.pass(r.q)
	if r.objects.bytes["b"] != "bytes of b" || failed != "1content/a: it cannot be looked at: 400 Bad Request" {
		t.Errorf("objects are %q, failed %q", r.objects.bytes, failed)
	}
}

// The same bytes may be uploaded again with other metadata, which their copy has then.
func TestAMovedObjectHasTheMetadataOfItsLastUpload(t *testing.T) {
	r := newMover(t)
	x := memadopt.Content{Key: "x", Object: "content/x"}
	r.q.Retention = 24 * time.Hour
	for _, colour := range []string{"red", "blue"} {
		r.objects.bytes["x"], r.objects.user = "some bytes", colour
		r.must(r.db.Create("a", x, r.now.now.Add(time.Second)))
		r.expire()
		for range 3 {
			r.now.now = r.now.now.Add(time.Hour)
			r.pass(r.clean)
		}
		if len(r.objects.bytes) > 0 || r.copies.user != colour {
			t.Errorf("left are %v, and the copy is %q, want %q", r.objects.bytes, r.copies.user, colour)
		}
	}
}

// mover is a collection whose objects move into quarantine.
type mover struct {
	*testing.T
	now             *clock
	db              *memadopt.DB
	objects, copies *shelf
	bucket          *stalled
	q               *adopt.Quarantine
	clean           *adopt.Clean
}

func newMover(t *testing.T) *mover {
	r := &mover{T: t, now: &clock{1e15}, objects: &shelf{bytes: map[string]string{}, md5: true}, copies: &shelf{bytes: map[string]string{}, md5: true}}
	grace := adopt.DefaultGrace
	r.db = memadopt.New(memadopt.Options{Clock: r.now, Grace: grace, Quarantine: true})
	r.q = &adopt.Quarantine{
		Prefix: "content/", Into: "kept/", Rows: r.db.Quarantine(), Objects: r.objects, Copies: r.copies,
		Grace: grace, Retention: time.Hour, Batch: 9, Boot: r.now,
	}
	r.bucket = &stalled{Deleter: r.q}
	r.clean = &adopt.Clean{Contents: r.db, Bucket: r.bucket, Grace: grace, Batch: 9, Boot: r.now}
	return r
}

func (r *mover) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// expire removes the rows that end within an hour.
func (r *mover) expire() {
	r.Helper()
	r.now.now = r.now.now.Add(time.Hour)
	c, err := r.db.Claim(r.Context(), 9)
	r.must(err)
	_, err = r.db.Settle(r.Context(), c, 0)
	r.must(err)
}

func (r *mover) pass(of interface {
	Pass(string) func(context.Context, func(string, int64)) (bool, error)
}) {
	r.Helper()
	step := of.Pass("w")
	for more := true; more; {
		var err error
		more, err = step(r.Context(), func(string, int64) {})
		r.must(err)
	}
}
