package object_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// mute is a disk that hides why a body failed.
type mute struct{ blob.Store }

func (m mute) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if m.Store.Put(ctx, key, r, size) != nil {
		return blob.ErrNotDone
	}
	return nil
}

// lazy is a disk that believes the declared size and never sees a body's end.
type lazy struct{ blob.Store }

func (l lazy) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	return l.Store.Put(ctx, key, io.LimitReader(r, size), size)
}

func TestBodyFailureIsNotTheBackends(t *testing.T) {
	w := newWorld(t, func(o *object.Options) {
		o.Backends = map[string]blob.Store{"disk1": mute{o.Backends["disk1"]}}
	})
	cut := errors.New("cut")
	in := io.MultiReader(strings.NewReader(noise(5*small, 80)), errReader{cut})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: 6 * small})
	w.wants(err, cut)
	w.empty()
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// Digests are checked at the end of a body: a disk that does not read that far
// must not get around them.
func TestBackendThatReadsTooLittleFails(t *testing.T) {
	w := newWorld(t, func(o *object.Options) {
		o.Backends = map[string]blob.Store{"disk1": lazy{o.Backends["disk1"]}}
	})
	data := noise(5*small, 81)
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(data), Size: 5 * small, SHA256: sha([]byte("other"))})
	if err == nil {
		t.Error("a wrong body was accepted")
	}
	w.hasNot("k")
	w.empty()
}

// claim takes all intents, as the reaper does, whatever their age.
func (w *world) claim() ledger.ClaimedIntents {
	w.t.Helper()
	in, err := w.db.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk1", Limit: 10, MinAge: -1})
	w.must(err)
	return in
}

// The reaper has the intent when its writer comes to commit, and will finish it
// from proof: the writer cannot know, and says so.
func TestClaimedForPromotionBeforeTheCommit(t *testing.T) {
	w := newWorld(t, nil)
	var in ledger.ClaimedIntents
	w.ledger.on("Commit", func() { in = w.claim() })
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("data"), Size: 4})
	w.wants(err, lethe.ErrReaped)
	w.wants(err, lethe.ErrUnknownOutcome)
	_, err = w.db.Promote(w.ctx, in.Fence, in.Intents[0].Blob.ID, lethe.BlockSums{})
	w.must(err)
	w.has("k", "data")
	w.sound()
}

// Only a write of which everything is fixed beforehand may be finished by the
// reaper: not one whose attributes are known at its end.
func TestOnlyFixedBodiesArePromotable(t *testing.T) {
	data := noise(50*small, 82)
	finish := func(*ledger.Attrs) error { return nil }
	for _, c := range []struct {
		sha, md5   string
		size       int64
		finish     func(*ledger.Attrs) error
		promotable bool
	}{
		{sha([]byte(data)), etag(data), 50 * small, nil, true},
		{sha([]byte(data)), etag(data), 50 * small, finish, false},
		{sha([]byte(data)), "", 50 * small, nil, false},
		{"", etag(data), 50 * small, nil, false},
		{sha([]byte(data)), etag(data), -1, nil, false},
	} {
		w := newWorld(t, nil)
		in := body(data, small, func(n int) error {
			if n != 10 {
				return nil
			}
			claimed := w.claim()
			if len(claimed.Intents) != 1 || (claimed.Intents[0].Promotion != nil) != c.promotable {
				t.Errorf("%+v: claimed %+v", c, claimed)
			}
			return nil
		})
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: c.size, SHA256: c.sha, MD5: c.md5, Finish: c.finish})
		w.wants(err, lethe.ErrReaped)
	}
}

// A reaped upload stops at its next heartbeat, however fresh the last one was.
func TestAReapedUploadStopsAtItsNextBeat(t *testing.T) {
	w := newWorld(t, nil)
	reads := 0
	in := body(noise(100*small, 83), small, func(n int) error {
		if reads = n; n == 10 {
			w.claim()
			w.clock.Advance(minAge / 10)
		}
		return nil
	})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: 100 * small})
	w.wants(err, lethe.ErrReaped)
	if reads > 12 {
		t.Errorf("went on to read %d times", reads)
	}
}

func TestReplacedContentLeavesTheCache(t *testing.T) {
	c := memory(t)
	w := newWorld(t, func(o *object.Options) { o.Cache = c })
	old := w.put("k", "old")
	w.has("k", "old")
	w.put("k", "new")
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	if _, ok := c.Get(w.ctx, cache.Key(who.ID, old.ContentID)); ok {
		t.Error("a replaced content is still cached")
	}
}

func TestClientGoesBeforeTheCommit(t *testing.T) {
	for _, n := range []int{0, 10, 5 * small} {
		w := newWorld(t, nil)
		ctx, cancel := context.WithCancel(w.ctx)
		_, err := w.Put(ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 84)), Size: int64(n),
			Finish: func(*ledger.Attrs) error { cancel(); return nil }})
		w.wants(err, context.Canceled)
		w.hasNot("k")
		w.empty()
	}
}

// Once the commit has begun, the client's leaving does not stop it.
func TestClientGoesDuringTheCommit(t *testing.T) {
	for _, n := range []int{0, 10, 5 * small} {
		w := newWorld(t, nil)
		ctx, cancel := context.WithCancel(w.ctx)
		commits := 0
		w.ledger.on("Commit", func() {
			if commits++; n != 10 || commits == 2 { // the first of a small body looks for the content
				cancel()
			}
		})
		_, err := w.Put(ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 85)), Size: int64(n)})
		w.must(err)
		w.has("k", noise(n, 85))
	}
}

// A copy onto itself takes nothing of a version over to the one that replaced it.
func TestCopyInPlaceOfAVersionThatIsReplaced(t *testing.T) {
	w := newWorld(t, nil)
	put := func(kind string) {
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(kind), Size: 3, Attrs: ledger.Attrs{ContentType: kind}})
		w.must(err)
	}
	put("old")
	once := true
	w.ledger.on("Update", func() {
		if once {
			once = false
			put("new")
		}
	})
	o, err := w.copyTo("k", nil)
	w.must(err)
	if o.Attrs.ContentType != "new" {
		t.Errorf("%+v", o.Attrs)
	}
}

// announced is a body that is never there: it notes the largest buffer that was
// held ready for it.
type announced struct{ most int }

func (a *announced) Read(p []byte) (int, error) {
	a.most = max(a.most, len(p))
	return 0, errors.New("the client went away")
}

// A client that announces a body gets no memory for it before it comes.
func TestAnnouncedBodiesHoldLittleMemory(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Small = 1 << 20 })
	body := &announced{}
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: body, Size: 1 << 20})
	if err == nil || body.most > 64<<10 {
		t.Errorf("%d bytes were held ready, %v", body.most, err)
	}
	whole := noise(1<<20, 60)
	for _, n := range []int{1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1<<20 - 1, 1 << 20} {
		w.put("k", whole[:n])
		w.has("k", whole[:n])
	}
}
