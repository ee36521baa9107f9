package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// Restored: a ledger moves blobs between its backends, and deletes; then a backup from before takes
// its place, by a person's decision. It names blobs where they lay: their bytes are orphans on
// another backend, and reconcile takes them. Nothing fails, but deletes that were sent take effect
// when they will, within the late window.

// restored is such a world.
type restored struct {
	*forks
	before, after *forkNode // processes of the ledger, and of its backup
	backup        *memledger.DB
}

// RunRestored runs one schedule of a restored ledger to its end. Of the configuration it takes the
// seed, and whether the trace is kept.
func RunRestored(cfg Config) Result {
	f, err := newForks(cfg)
	f.fail(err)
	for _, n := range f.nodes {
		n.die()
		n.bury()
	}
	f.quiet, f.kind = true, copiedOnce
	f.tardy = func() bool { return f.rng.IntN(3) == 0 }
	r := &restored{forks: f}
	f.unpanicked("the backup", r.play)
	return Result{
		Config: f.cfg, Err: f.err, Violation: violation(f.err), Hash: hex.EncodeToString(f.trace.Sum(nil)[:16]),
		Trace: f.lines, Taken: len(f.taken),
	}
}

func (r *restored) play() {
	r.before = r.fresh(r.sides[0])
	for range 4 {
		r.hearts(r.before)
	}
	began := r.rng.IntN(10)
	for i := range 15 + began {
		if i == began {
			r.backup = duplicate(r.before.side.db)
		}
		r.lives(r.before)
	}
	s := r.side("copy", r.backup)
	for _, b := range s.blobs() {
		r.gone[b.ID] = !r.there(b) || r.sent(b)
	}
	r.after = r.fresh(s)
	r.hearts(r.after)
	r.decide(s)
	for range 4 {
		r.hearts(r.after)
	}
	for range 20 {
		r.lives(r.after)
	}
	r.comesBack()
}

// lives has something happen on a ledger, and time pass.
func (r *restored) lives(n *forkNode) {
	switch k := r.rng.IntN(12); {
	case k < 3:
		r.puts(n)
	case k < 5:
		key := pick(r.rng, keyNames)
		_, err := n.objects.Delete(context.Background(), object.DeleteRequest{Bucket: "plain", Items: []ledger.DeleteItem{{Key: key}}})
		r.note("the %s deletes %s: %s", n.side.name, key, class(err))
	case k < 7:
		r.drains(&routine.Clean{
			Ledger: n.seam, Stores: n.stores, Store: r.store, Safety: safety, Limit: batch, Clock: r, Boot: r,
			Admit: func(ctx context.Context, id string) error { return n.asks(nil, id, n.pairing.Admit, false) },
		})
	case n == r.before:
		r.moves(n)
	default:
		r.drains(r.reconciler(n))
	}
	for range r.rng.IntN(40) {
		r.hearts(n)
		r.land(false)
	}
}

// movedBodies are bodies of which some have one size.
var movedBodies = [][]byte{[]byte("one body"), []byte("two body"), []byte("six body"), corpus[3]}

func (r *restored) puts(n *forkNode) {
	key, body := pick(r.rng, keyNames), pick(r.rng, movedBodies)
	_, err := n.objects.Put(context.Background(), object.PutRequest{Bucket: "plain", Key: key, Body: strings.NewReader(string(body)), Size: int64(len(body))})
	r.note("the %s puts %s: %s", n.side.name, key, class(err))
	r.fail(err)
}

// moves empties one of the backends.
func (r *restored) moves(n *forkNode) {
	from := pick(r.rng, shelves)
	for _, id := range shelves {
		r.fail(n.side.db.SetDraining(context.Background(), id, id == from))
	}
	r.note("the %s moves what lies on %s", n.side.name, from)
	o := placement.Options{
		Ledger: ledgertest.ForPlacement(n.seam), Stores: n.stores, Store: r.store, Order: shelves, Replicas: 1,
		Claim: batch, Page: batch, Clock: r, NewID: r.newID,
	}
	for _, x := range []reclaim.Routine{placement.NewDrain(o), placement.NewReplicate(o), placement.NewReplicate(o)} {
		r.drains(x)
	}
	r.fail(n.side.db.SetDraining(context.Background(), from, false))
}

func (r *restored) newID() lethe.ID { return lethe.NewID(r.now, r.ids) }

func (r *restored) reconciler(n *forkNode) reclaim.Routine {
	return reconcile.New(reconcile.Options{
		Ledger: n.seam, Stores: n.stores, Pairing: n.pairing, Store: r.store, Clock: r, NewID: r.newID, Grace: safety.OrphanGrace,
		Wait:   safety.LateWindow + safety.DeleteTime(),
		Misses: func(context.Context) (string, error) { return "it was restored", nil },
	})
}

// comesBack: when all deletes have taken effect, what the ledger lists lies there; and no blob is
// lost whose bytes lie on a backend without a row.
func (r *restored) comesBack() {
	r.advance(r.now.Add(2 * safety.LateWindow))
	r.land(false)
	for range 4 {
		r.hearts(r.after)
	}
	for range 3 {
		r.drains(r.reconciler(r.after))
		r.drains(r.reconciler(r.after))
	}
	r.fail(r.intact())
	orphans := map[string]string{} // by digest
	for _, id := range shelves {
		for _, key := range r.disks[id].Keys() {
			bytes, _ := r.disks[id].Bytes(key)
			if blob := blobID(r.store, key); !r.isEpoch(key) && !r.after.side.has(blob) {
				orphans[digestOf(bytes)] = key
			}
		}
	}
	sound := map[lethe.ID]bool{}
	for _, b := range r.after.side.blobs() {
		sound[b.ContentID] = sound[b.ContentID] || b.State == lethe.Live && r.there(b)
	}
	for _, b := range r.after.side.blobs() {
		if key := orphans[b.Digest]; b.State == lethe.Live && !sound[b.ContentID] && key != "" {
			r.fail(broken("blob %s is lost, and its bytes lie at %s", b.ID, key))
		}
	}
}

func (s *side) has(id lethe.ID) bool {
	_, ok := s.db.Blob(id)
	return ok
}

func digestOf(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

func (f *forks) there(b ledger.Blob) bool {
	_, there := f.disks[b.Backend].Bytes(lethe.BlobKey(f.store, b.ID))
	return there
}

// sent says that a delete of a blob is on its way.
func (f *forks) sent(b ledger.Blob) bool {
	return slices.ContainsFunc(f.late, func(l *landing) bool {
		return strings.HasPrefix(l.what, "unlink ") && strings.Contains(l.what, lethe.BlobKey(f.store, b.ID))
	})
}

// takes: an orphan is taken only for a blob whose bytes it has, and when no delete of it can come
// any more.
func (f *forks) takes(s *side, t ledger.Found, b ledger.Blob) error {
	f.taken[t.Orphan] = s
	bytes, there := f.disks[t.Backend].Bytes(lethe.BlobKey(f.store, t.Orphan))
	lost, _ := s.db.Blob(t.Lost)
	switch {
	case !there:
		return broken("orphan %s of %s is taken, and does not lie there", t.Orphan, t.Backend)
	case digestOf(bytes) != lost.Digest:
		return broken("orphan %s is taken for blob %s, which has other bytes", t.Orphan, t.Lost)
	case f.sent(b):
		return broken("orphan %s is taken, and a delete of it is on its way", t.Orphan)
	}
	return nil
}

func (s *forkSeam) TakeOrphan(ctx context.Context, t ledger.Found) (ledger.Blob, error) {
	return change(s, "take-orphan", fmt.Sprint(t.Orphan, " for ", t.Lost), func() (ledger.Blob, error) {
		had := s.side.has(t.Orphan)
		b, err := s.DB.TakeOrphan(ctx, t)
		s.f.note("the %s takes %s for %s: %s", s.side.name, t.Orphan, t.Lost, class(err))
		switch {
		case err == nil && had:
			s.f.fail(broken("orphan %s is taken, and had a row", t.Orphan))
		case err == nil:
			s.f.fail(s.f.takes(s.side, t, b))
		case !errors.Is(err, lethe.ErrContentGone) && !errors.Is(err, lethe.ErrFenced):
			s.f.fail(err)
		}
		return b, err
	})
}
