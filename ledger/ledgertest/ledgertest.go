// Package ledgertest defines the meaning of package ledger by tests. Run is the conformance
// suite. Differ runs the same random histories on two ledgers and compares everything
// observable. What both leave open is not part of the contract. Tests of one engine's tables
// or speed are with that engine.
package ledgertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// Ledger is the whole contract of a ledger.
type Ledger interface {
	ObjectLedger
	EngineLedger
	PlacementLedger
	routine.TallyLedger
	reconcile.Ledger
	// Walks returns the newest walks over a backend, newest first.
	Walks(ctx context.Context, backend string, limit int) ([]ledger.Walk, error)
	// EndClaims ends the claims of a process that is gone, or of all.
	EndClaims(ctx context.Context, process string) (ledger.EndedClaims, error)
}

// EngineLedger is what the engine and those who operate it need of a ledger together.
type EngineLedger interface {
	routine.ExpireLedger
	routine.EvictLedger
	routine.CleanLedger
	routine.ReapLedger
	routine.UploadLedger
	routine.LifecycleLedger
	routine.PurgeLedger
	routine.VerifyLedger
	routine.PlanLedger
	routine.ReceiptLedger
	routine.WatchLedger
	routine.UsageLedger
	routine.EventLedger
	eventLedger
	reclaim.RunLedger
	pairing.Ledger
	operatedLedger
}

// operatedLedger is what no routine needs: what starts, holds and shows.
type operatedLedger interface {
	deadLedger
	limitLedger
	// AddBackend registers a backend or updates its quota.
	AddBackend(ctx context.Context, b ledger.Backend) (ledger.Backend, error)
	// HoldBackend holds deletes on a backend for a reason, or releases them with an
	// empty one.
	HoldBackend(ctx context.Context, backend, reason string) error
	// InterruptRuns marks the unfinished runs of a dead worker.
	InterruptRuns(ctx context.Context, worker string) (int, error)
	// RunsSince returns the newest runs of a routine that began at an instant or later, up
	// to a limit, the newest first.
	RunsSince(ctx context.Context, routine string, since lethe.Time, limit int) ([]ledger.Run, error)
	// UsageRecords returns a page of records, by the names of their buckets.
	UsageRecords(ctx context.Context, q ledger.UsageRecordQuery) ([]ledger.UsageRecord, error)
	// RuledBuckets lists buckets with rules, or with stamps of rules they had.
	RuledBuckets(ctx context.Context) ([]ledger.BucketRules, error)
}

// deadLedger keeps the dead letters.
type deadLedger interface {
	Dead(ctx context.Context, q ledger.DeadQuery) ([]ledger.DeadLetter, error)
	// DeadByID returns the rows that are dead letters, in any order.
	DeadByID(ctx context.Context, ids []lethe.ID) ([]ledger.DeadLetter, error)
	// Requeue condemns dead blobs again, due now, attempts at zero.
	Requeue(ctx context.Context, ids []lethe.ID) (int, error)
	// WriteOff removes dead rows: the operator vouches that the bytes are gone. Rows
	// whose upload may still land stay.
	WriteOff(ctx context.Context, ids []lethe.ID) (int, error)
	Totals(ctx context.Context) ([]ledger.Total, error)
}

// eventLedger keeps notification rules, and shows what waits to be delivered.
type eventLedger interface {
	SetNotifications(ctx context.Context, c ledger.NotificationChange) error
	Notifications(ctx context.Context, bucket string) (notification.Rules, error)
	Events(ctx context.Context, q ledger.EventQuery) ([]ledger.Event, error)
	// RequeueEvents and DropEvents change dead letters only, and return how many.
	RequeueEvents(ctx context.Context, s ledger.EventSelection) (int, error)
	DropEvents(ctx context.Context, s ledger.EventSelection) (int, error)
}

// limitLedger records what a tripped limit has stopped.
type limitLedger interface {
	LimitStates(ctx context.Context) ([]ledger.LimitState, error)
	// AllowBeyondLimit resets a tripped limit, and allows so much more.
	AllowBeyondLimit(ctx context.Context, a ledger.Allowance) error
	// EndTrips resets tripped limits that are no longer set, and returns them.
	EndTrips(ctx context.Context, l ledger.Limits) (ended []ledger.LimitState, err error)
}

// Open returns an empty ledger. If it is an io.Closer, it is closed after use.
type Open func(t testing.TB, o ledger.Options) Ledger

func shut(t testing.TB, l Ledger) {
	if c, ok := l.(io.Closer); ok {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// newClock returns a clock at some instant.
func newClock() *clocktest.Clock {
	return clocktest.At(lethe.FromTime(time.Date(2031, 5, 4, 3, 2, 1, 0, time.UTC)))
}

// IDs is a source of random bits that repeats for the same seed.
type IDs struct{ *rand.ChaCha8 }

// NewIDs returns a source for a seed.
func NewIDs(seed uint64) *IDs {
	ids := &IDs{}
	ids.Seed(seed)
	return ids
}

// Seed restarts the source.
func (s *IDs) Seed(seed uint64) {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	s.ChaCha8 = rand.NewChaCha8(key)
}

// The suite's own limits; a test may set others.
const (
	readGrace  = 10 * time.Minute
	movedGrace = 3 * time.Hour
	lateWindow = time.Hour
	opsKept    = 24 * time.Hour
	disk       = "disk"
	bucketName = "bucket"
	owner      = "owner"
)

// world is one ledger under test with its clock.
type world struct {
	testing.TB
	Ledger
	ctx   context.Context
	clock *clocktest.Clock
	ids   *IDs
}

// test is one behaviour.
type test struct {
	name    string
	run     func(w *world)
	options func(*ledger.Options)
}

// Run runs the suite on a ledger.
func Run(t *testing.T, open Open) {
	groups := []struct {
		name  string
		tests []test
	}{
		{"buckets", bucketTests()}, {"intents", intentTests()}, {"late", lateTests()}, {"commit", commitTests()},
		{"dedup", dedupTests()}, {"inline", inlineTests()}, {"conditions", conditionTests()}, {"ttl", ttlTests()}, {"reads", readTests()}, {"idle", idleTests()}, {"evict", evictTests()},
		{"delete", deleteTests()}, {"trash", trashTests()}, {"list", listTests()},
		{"uploads", uploadTests()}, {"complete", completeTests()}, {"rules", ruleTests()}, {"expire", expireTests()}, {"due", dueTests()}, {"turns", turnTests()},
		{"clean", cleanTests()}, {"reap", reapTests()}, {"backends", backendTests()}, {"verify", verifyTests()},
		{"solo", soloTests()}, {"receipts", receiptTests()}, {"events", eventTests()}, {"place", append(placeTests(), placeRaces()...)},
		{"walks", walkTests()}, {"found", foundTests()}, {"blocks", blockTests()}, {"usage", usageTests()},
		{"holds", holdTests()}, {"limits", limitTests()}, {"trust", trustTests()},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.tests {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					runOne(t, open, c)
				})
			}
		})
	}
}

func runOne(t *testing.T, open Open, c test) {
	w := &world{TB: t, ctx: t.Context(), clock: newClock(), ids: NewIDs(1)}
	o := ledger.Options{Clock: w.clock, Random: NewIDs(2), ReadGrace: readGrace, MovedGrace: movedGrace, LateWindow: lateWindow, OpsKept: opsKept}
	if c.options != nil {
		c.options(&o)
	}
	w.Ledger = open(t, o)
	defer shut(t, w.Ledger)
	must(w.AddBackend(w.ctx, ledger.Backend{ID: disk}))(w)
	w.bucket(bucketName, ledger.BucketSettings{})
	c.run(w)
	w.sound()
}

// sound fails the test if a recount finds a difference, or inline bytes that are wrong.
func (w *world) sound() {
	w.Helper()
	wrong := must(w.CheckBodies(w.ctx, "", 1000))(w).Wrong
	for _, d := range append(must(w.Recount(w.ctx))(w), wrong...) {
		w.Errorf("recount: %s of %s is %s, should be %s", d.What, d.Name, d.Have, d.Want)
	}
}

// must returns a result without its error: must(call())(w).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// refused returns the error of a result: refused(call()).
func refused[T any](_ T, err error) error { return err }

// ok fails the test on an error.
func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fails checks the kind of err, and that a recount finds no difference.
func (w *world) fails(err, kind error) {
	w.Helper()
	if !errors.Is(err, kind) {
		w.Fatalf("error is %v, want %v", err, kind)
	}
}

// broken checks that err is an error, of any kind.
func (w *world) broken(err error) {
	w.Helper()
	if err == nil {
		w.Fatal("no error")
	}
}

// equal compares two values.
func equal[T any](t testing.TB, what string, have, want T) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		t.Fatalf("%s is %v, want %v", what, have, want)
	}
}

// unchanged checks that a call that fails changed nothing observable.
func (w *world) unchanged(call func()) {
	w.Helper()
	before := dump(w, w.Ledger)
	call()
	if after := dump(w, w.Ledger); after != before {
		w.Fatalf("a refused call changed the ledger from\n%s\nto\n%s", before, after)
	}
}

func (w *world) id() lethe.ID          { return lethe.NewID(w.clock.Now(), w.ids) }
func (w *world) later(d time.Duration) { w.clock.Advance(d) }
func (w *world) now() lethe.Time       { return w.clock.Now() }

// bucket creates a bucket of the usual owner.
func (w *world) bucket(name string, s ledger.BucketSettings) ledger.Bucket {
	w.Helper()
	return must(w.CreateBucket(w.ctx, ledger.Bucket{Name: name, Owner: owner, BucketSettings: s}))(w)
}

// configure sets the settings of the usual bucket.
func (w *world) configure(s ledger.BucketSettings) {
	w.Helper()
	must(w.ConfigureBucket(w.ctx, bucketName, s, nil))(w)
}

// sum returns the digest of a body.
func sum(body string) string {
	h := sha256.Sum256([]byte(body))
	return hex.EncodeToString(h[:])
}

// crc returns a stand-in for the CRC of a body.
func crc(body string) uint32 { return crc32.ChecksumIEEE([]byte(body)) }

// blockSums returns the sums of a body. Blocks are small here, so nearly every body has
// several.
func blockSums(body string) lethe.BlockSums {
	h := lethe.NewBlockHash(3)
	h.Write([]byte(body))
	return h.Sums()
}

// etag returns a stand-in for the ETag of a body.
func etag(body string) string { return "etag-" + sum(body)[:8] }

// begin commits an intent for a body.
func (w *world) begin(body string) lethe.ID {
	w.Helper()
	return must(w.Begin(w.ctx, ledger.Intent{ID: w.id(), Backend: disk, Size: int64(len(body))}))(w).ID
}

// upload returns an intent whose upload has succeeded.
func (w *world) upload(body string) ledger.Uploaded {
	w.Helper()
	return ledger.Uploaded{Blob: w.begin(body), Size: int64(len(body)), Digest: sum(body), CRC32C: crc(body), Blocks: blockSums(body)}
}

// reference returns a commit of a body that is not uploaded.
func (w *world) reference(key, body string) ledger.Commit {
	size := int64(len(body))
	return ledger.Commit{
		Op: w.id(), What: "put",
		Object:  ledger.Object{Bucket: bucketName, Key: key, Size: size, ETag: etag(body)},
		Content: ledger.ContentKey{Domain: owner, Kind: lethe.Whole, Digest: sum(body), Size: size},
	}
}

// written returns a commit of a body that was uploaded.
func (w *world) written(key, body string) ledger.Commit {
	w.Helper()
	c := w.reference(key, body)
	if body != "" {
		c.Blobs = []ledger.Uploaded{w.upload(body)}
	}
	return c
}

// commit makes an object.
func (w *world) commit(c ledger.Commit) ledger.Committed {
	w.Helper()
	return must(w.Commit(w.ctx, c))(w)
}

// put writes an object.
func (w *world) put(key, body string) ledger.Object {
	w.Helper()
	return w.commit(w.written(key, body)).Object
}

// putTTL writes an object with a time to live.
func (w *world) putTTL(key, body string, ttl time.Duration) ledger.Object {
	w.Helper()
	c := w.written(key, body)
	c.TTL = ttl
	return w.commit(c).Object
}

// get resolves an object.
func (w *world) get(key string) ledger.Resolved {
	w.Helper()
	return must(w.Resolve(w.ctx, bucketName, key))(w)
}

// absent checks that readers do not see the key.
func (w *world) absent(key string) {
	w.Helper()
	w.fails(refused(w.Resolve(w.ctx, bucketName, key)), lethe.ErrNoSuchKey)
}

// remove deletes keys.
func (w *world) remove(keys ...string) ledger.Deletions {
	w.Helper()
	d := ledger.Deletion{Op: w.id(), Bucket: bucketName}
	for _, k := range keys {
		d.Items = append(d.Items, ledger.DeleteItem{Key: k})
	}
	return must(w.Delete(w.ctx, d))(w)
}

// row returns a blob's row; the test fails if it is gone.
func (w *world) row(id lethe.ID) ledger.Blob {
	w.Helper()
	rows := must(w.BlobsByID(w.ctx, []lethe.ID{id}))(w)
	if len(rows) != 1 {
		w.Fatalf("blob %s has %d rows", id, len(rows))
	}
	return rows[0]
}

// in checks the state of a blob; 0 means that its row is gone.
func (w *world) in(id lethe.ID, s lethe.State) {
	w.Helper()
	rows := must(w.BlobsByID(w.ctx, []lethe.ID{id}))(w)
	if s == 0 && len(rows) == 0 || len(rows) == 1 && rows[0].State == s {
		return
	}
	w.Fatalf("blob %s is in %+v, want %s", id, rows, s)
}

// condemned checks why a blob was condemned and when it is due.
func (w *world) condemned(id lethe.ID, why lethe.Reason, due lethe.Time) {
	w.Helper()
	b := w.row(id)
	if b.State != lethe.Condemned || b.Reason != why || b.DueAt != due {
		w.Fatalf("blob is %s for %q, due %s, want condemned for %q, due %s", b.State, b.Reason, b.DueAt, why, due)
	}
}

// onlyBlob returns the blob of an object that has one.
func (w *world) onlyBlob(key string) ledger.Blob {
	w.Helper()
	s := w.get(key).Segments
	if len(s) != 1 || len(s[0].Blobs) != 1 {
		w.Fatalf("%s has segments %+v, want one blob", key, s)
	}
	return s[0].Blobs[0]
}

// bytes returns what a backend holds in a state.
func (w *world) bytes(s lethe.State) (blobs, bytes int64) {
	w.Helper()
	for _, t := range must(w.Totals(w.ctx))(w) {
		if t.State == s {
			blobs += t.Blobs
			bytes += t.Bytes
		}
	}
	return blobs, bytes
}

// totals checks the numbers of blobs by state, pending to dead.
func (w *world) totals(want ...int64) {
	w.Helper()
	for i, s := range lethe.States {
		if n, _ := w.bytes(s); n != want[i] {
			w.Fatalf("%d blobs are %s, want %d: %v", n, s, want[i], must(w.Totals(w.ctx))(w))
		}
	}
}

// claim claims what is due.
func (w *world) claim() ledger.Claimed {
	w.Helper()
	return must(w.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "cleaner", Backend: disk, Limit: 100}))(w)
}

// settle records one result for all of a claim.
func (w *world) settle(c ledger.Claimed, r ledger.SettleItem) ledger.Settled {
	w.Helper()
	s := ledger.Settlement{Fence: c.Fence}
	for _, b := range c.Blobs {
		r.ID = b.ID
		s.Items = append(s.Items, r)
	}
	return must(w.Settle(w.ctx, s))(w)
}

// clean deletes what is due.
func (w *world) clean() ledger.Settled {
	w.Helper()
	return w.settle(w.claim(), ledger.SettleItem{Result: ledger.Gone})
}

// names joins the keys of objects, for comparison.
func names[T any](list []T, name func(T) string) string {
	out := ""
	for _, v := range list {
		out += fmt.Sprintf("%s;", name(v))
	}
	return out
}

func contextCanceled(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	cancel()
	return ctx, cancel
}
