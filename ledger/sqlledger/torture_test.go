package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	history "github.com/lethe-storage/lethe/test/linearizable"
)

// torture makes many clients and workers of two instances work on one ledger in
// PostgreSQL at once, on few keys and few contents, so that they meet all the
// time.
type torture struct {
	testing.TB
	dbs    [2]*DB
	ctx    context.Context
	killed string // the database on which connections are being killed
	steps  int
	lost   atomic.Int64 // outcomes that had to be looked up
	done   [2]atomic.Int64
	// contest are keys that all clients write and read; written has the value of each
	// version there.
	contest *history.Contest
	written sync.Map
	shared  sharedUploads
	holding sync.Map // keys that are held
	counts  tortureCounts
}

const (
	tortureQuota   = 700 // bytes on "disk"
	tortureObjects = 4   // in "few"
)

var tortureBuckets = []ledger.Bucket{
	{Name: "plain", Owner: "alice"},
	{Name: "undo", Owner: "alice", BucketSettings: ledger.BucketSettings{Undo: 20 * time.Millisecond}},
	{Name: "few", Owner: "alice", BucketSettings: ledger.BucketSettings{QuotaObjects: tortureObjects}},
	{Name: "ruled", Owner: "alice"},
}

// tortureBackends: placement keeps two copies of each content on two of them.
var tortureBackends = []ledger.Backend{{ID: "disk", Quota: tortureQuota}, {ID: "tape"}, {ID: "attic"}}

func newTorture(t testing.TB, url string) *torture {
	x := &torture{TB: t, ctx: t.Context(), steps: 150, contest: history.NewContest(3)}
	if testing.Short() {
		x.steps = 30
	}
	for i := range x.dbs {
		x.dbs[i] = openServerAt(t, url, ledger.Options{
			MaxRefs: 9, ReadGrace: time.Millisecond, LateWindow: time.Millisecond, Replicas: 2,
		}, Postgres(PostgresOptions{Requests: 12, Routines: 6}))
	}
	db := x.dbs[0]
	for _, b := range tortureBackends {
		if _, err := db.AddBackend(x.ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range tortureBuckets {
		if _, err := db.CreateBucket(x.ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// kill breaks connections at random, as an administrator or a crash does.
func (x *torture) kill(url string, stop chan struct{}) {
	pool, err := pgxpool.New(x.ctx, url)
	if err != nil {
		x.Error(err)
		return
	}
	defer pool.Close()
	for {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		_, err := pool.Exec(x.ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'lethe' ORDER BY random() LIMIT 1`)
		if err != nil {
			x.Error(err)
			return
		}
	}
}

// run lets everybody work until the clients are done.
func (x *torture) run(clients int) {
	var working, engine sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		engine.Go(func() {
			h := x.hand(uint64(1000 + i))
			for {
				select {
				case <-stop:
					return
				default:
					h.work()
				}
			}
		})
	}
	engine.Go(func() { x.watch(stop) })
	if x.killed != "" {
		engine.Go(func() { x.kill(x.killed, stop) })
	}
	for i := range clients {
		working.Go(func() {
			h := x.hand(uint64(i))
			for range x.steps {
				h.act()
			}
			h.verify()
		})
	}
	working.Wait()
	close(stop)
	engine.Wait()
}

// watch checks, while everybody works, what has to hold in every snapshot.
func (x *torture) watch(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		totals, err := x.dbs[1].Totals(x.ctx)
		if x.fine(err) {
			used := int64(0)
			for _, c := range totals {
				if c.Backend == "disk" {
					used += c.Bytes
				}
			}
			if used > tortureQuota {
				x.Errorf("%d bytes on a backend that may have %d", used, tortureQuota)
			}
		}
		b, err := x.dbs[1].Bucket(x.ctx, "few")
		if x.fine(err) && b.Objects > tortureObjects {
			x.Errorf("%d objects in a bucket that may have %d", b.Objects, tortureObjects)
		}
	}
}

// refusals are the refusals that clients may meet.
var refusals = []error{
	lethe.ErrNoSuchKey, lethe.ErrNoSuchUpload, lethe.ErrPreconditionFailed, lethe.ErrReaped, lethe.ErrContentGone,
	lethe.ErrQuotaExceeded, lethe.ErrNoRoom, lethe.ErrTrashNotFound, lethe.ErrFenced, lethe.ErrInvalidPart, lethe.ErrHeld,
}

// fine reports whether there was no error; one that may not be fails the test.
func (x *torture) fine(err error) bool {
	if err == nil {
		x.done[0].Add(1)
		return true
	}
	x.done[1].Add(1)
	for _, e := range refusals {
		if errors.Is(err, e) {
			return false
		}
	}
	if x.killed != "" && (errors.Is(err, lethe.ErrUnavailable) || errors.Is(err, lethe.ErrUnknownOutcome)) {
		return false
	}
	x.Error(err)
	return false
}

// hand is a client or a worker.
type hand struct {
	*torture
	db     *DB
	number int
	name   string
	dice   *rand.Rand
	// own are the keys that only this worker writes, with the version that must be there;
	// empty if none must be.
	own map[string]lethe.ID
}

func (x *torture) hand(seed uint64) *hand {
	return &hand{x, x.dbs[seed%2], int(seed), fmt.Sprint("hand", seed), rand.New(rand.NewPCG(seed, 7)), map[string]lethe.ID{}}
}

func (h *hand) id() lethe.ID { return lethe.RandomID(lethe.SystemClock{}.Now()) }

func (h *hand) key() (bucket, key string) {
	return tortureBuckets[h.dice.IntN(len(tortureBuckets))].Name, fmt.Sprint("key", h.dice.IntN(15))
}

// bodies are few, of a size that goes with each.
const bodies = 6

func bodyOf(n int) string { return strings.Repeat(fmt.Sprint(n), 100+n) }

// body is one of few.
func (h *hand) body() (digest string, size int64) {
	b := bodyOf(h.dice.IntN(bodies))
	return hexSum(b), int64(len(b))
}

// settled resolves an unknown outcome by the operation's id.
func (h *hand) settled(op lethe.ID, err error) error {
	if !errors.Is(err, lethe.ErrUnknownOutcome) {
		return err
	}
	h.lost.Add(1)
	for range 1000 {
		_, found, lookup := h.db.Outcome(h.ctx, op)
		if lookup == nil {
			if found {
				return nil
			}
			return lethe.ErrUnavailable
		}
	}
	h.Error("the outcome of an operation cannot be looked up")
	return err
}

func (h *hand) act() {
	switch n := h.dice.IntN(32); {
	case n < 5:
		h.put(h.key())
	case n < 8:
		h.putOwn()
	case n < 10:
		h.delete()
	case n < 11:
		h.deleteOwn()
	case n < 13:
		h.copy()
	case n < 14:
		h.reference()
	case n < 15:
		h.update()
	case n < 17:
		h.multipart()
	case n < 18:
		h.restore()
	case n < 19:
		h.mark()
	case n < 25:
		h.rival()
	case n < 29:
		h.together()
	case n < 30:
		h.hold()
	case n < 31:
		h.rule()
	default:
		h.look()
	}
}

// commitOf is a commit of some body that is to be uploaded.
func (h *hand) commitOf(bucket, key string) ledger.Commit {
	digest, size := h.body()
	return ledger.Commit{
		Op: h.id(), What: "put", Object: ledger.Object{Bucket: bucket, Key: key, Size: size, ETag: digest[:8]},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: size},
		Blobs:   []ledger.Uploaded{{Blob: h.id(), Size: size, Digest: digest, Late: h.dice.IntN(4) == 0}},
	}
}

// upload makes an intent, beside others perhaps, and a commit of it.
func (h *hand) upload(bucket, key string) (ledger.Commit, bool) {
	c := h.commitOf(bucket, key)
	switch h.dice.IntN(4) {
	case 0:
		c.TTL = time.Duration(1+h.dice.IntN(30)) * time.Millisecond
	case 1:
		c.If.IfMatch = "*"
	case 2:
		c.If.IfNoneMatch = "*"
	}
	_, err := h.begin(c)
	return c, err == nil
}

// begin makes the intent of a commit, and reports whether a reaper may finish it.
func (h *hand) begin(c ledger.Commit) (promised bool, err error) {
	up := c.Blobs[0]
	in := ledger.Intent{ID: up.Blob, Backend: h.backend(), Size: up.Size}
	if h.dice.IntN(3) == 0 {
		in.Size /= 2
	}
	if promised = h.dice.IntN(3) == 0; promised {
		in.Promotion = &ledger.Promotion{Commit: c}
	}
	if _, err = h.db.Begin(h.ctx, in); h.fine(err) && in.Size < up.Size {
		err = h.db.Beat(h.ctx, up.Blob, up.Size)
		h.fine(err)
	}
	return promised, err
}

func (h *hand) backend() string { return tortureBackends[h.dice.IntN(len(tortureBackends))].ID }

func (h *hand) put(bucket, key string) {
	c, ok := h.upload(bucket, key)
	if !ok || h.dice.IntN(8) == 0 {
		return // gone without a word: the reaper's
	}
	if h.dice.IntN(8) == 0 {
		h.fine(h.db.Abandon(h.ctx, c.Blobs[0].Blob, true))
		return
	}
	_, err := h.db.Commit(h.ctx, c)
	h.fine(h.settled(c.Op, err))
}

// ownKey is a key that this client alone writes; the reaper is kept from it.
func (h *hand) ownKey() string { return fmt.Sprint(h.name, "/", h.dice.IntN(3)) }

func (h *hand) putOwn() {
	key := h.ownKey()
	c, ok := h.upload("plain", key)
	if !ok {
		return
	}
	if h.dice.IntN(3) == 0 {
		h.inline(&c)
	}
	c.If, c.TTL = ledger.Precondition{}, 0
	_, err := h.db.Commit(h.ctx, c)
	if err = h.settled(c.Op, err); h.fine(err) {
		h.own[key] = c.Op
	}
}

func (h *hand) deleteOwn() {
	key, op := h.ownKey(), h.id()
	_, err := h.db.Delete(h.ctx, ledger.Deletion{Op: op, Bucket: "plain", Items: []ledger.DeleteItem{{Key: key}}})
	if err = h.settled(op, err); h.fine(err) {
		h.own[key] = ""
	}
}

// verify checks that what was acknowledged is there.
func (h *hand) verify() {
	for key, want := range h.own {
		var r ledger.Resolved
		var err error
		for range 100 {
			if r, err = h.db.Resolve(h.ctx, "plain", key); h.killed == "" || !errors.Is(err, lethe.ErrUnavailable) {
				break
			}
		}
		if want == "" && !errors.Is(err, lethe.ErrNoSuchKey) {
			h.Errorf("%s was deleted, and is there: %v %v", key, r.Object.ID, err)
		}
		if want != "" && (err != nil || r.Object.ID != want) {
			h.Errorf("%s should be version %s, is %s: %v", key, want, r.Object.ID, err)
		}
	}
}
