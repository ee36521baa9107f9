package s3blob

import (
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/test/servers"
)

// A real server hangs, dies and comes back: nothing is taken for absent or deleted
// meanwhile, and the same store works again afterwards.
func TestServerThatStandsStillDiesAndComesBack(t *testing.T) {
	server := servers.NewVersityGW(t)
	o := optionsOf(server.S3, server.Bucket(t))
	s := openBucket(t, o)
	keys := fill(t, s, 20)
	o.Timeout = 500 * time.Millisecond
	impatient, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	impatient.state.caps, impatient.state.known, impatient.state.next = s.Capabilities(), true, 1<<62

	server.Freeze()
	_, err = impatient.Stat(t.Context(), keys[0])
	wantDown(t, "stat of a server that stands still", err)
	_, err = impatient.Stat(t.Context(), "absent")
	wantDown(t, "stat of what is absent", err)
	wantDown(t, "list", impatient.List(t.Context(), "", "", func(blob.Info) error { return nil }))
	err = put(impatient, "late", 10)
	if wantDown(t, "put", err); !blob.Unknown(err) {
		t.Errorf("a put that was sent is certain: %v", err)
	}
	results, err := impatient.Delete(t.Context(), keys[:5])
	wantDown(t, "delete", err)
	for _, r := range results {
		if !blob.Unknown(r.Err) {
			t.Errorf("a delete that was sent is certain: %v", r.Err)
		}
	}
	server.Thaw()
	for _, k := range keys[5:] {
		if size(t, s, k) != 10 {
			t.Errorf("%s is gone", k)
		}
	}

	server.Kill()
	wantDown(t, "put to a dead server", put(s, "b", 10))
	_, err = s.Stat(t.Context(), "absent")
	wantDown(t, "stat of what is absent", err)
	_, err = s.Delete(t.Context(), keys)
	wantDown(t, "delete", err)
	server.Restart()
	if results, err := s.Delete(t.Context(), keys); err != nil || len(results) != 20 {
		t.Errorf("after its return: %v", err)
	}
	for i := range keys {
		if got := size(t, s, keys[i]); got != -1 {
			t.Errorf("%s has %d bytes", keys[i], got)
		}
	}
	if err := put(s, "after", 10); err != nil {
		t.Error(err)
	}
}

func wantDown(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, blob.ErrDown) || errors.Is(err, blob.ErrNotExist) {
		t.Errorf("%s: %v; want that it is down", what, err)
	}
}
