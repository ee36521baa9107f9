// Package adopttest holds every implementation of adoption's contracts to one
// meaning. An implementation comes with an application of its own, whose rows and
// contents it adopts; the suite plays both sides.
package adopttest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// Never is the end of a row that does not end.
const Never = time.Duration(math.MaxInt64)

// ErrRefused: the guard refused a transaction of the application, which changed
// nothing.
var ErrRefused = errors.New("the guard refused it")

// ErrAlone: nothing is locked apart, as whoever writes is alone.
var ErrAlone = errors.New("whoever writes is alone")

// Row is a row of the application.
type Row struct {
	Key, Content string
	In           time.Duration // until its end, from now
}

// State is that of a row's status.
type State int

// States of rows.
const (
	Absent State = iota
	Live
	Claimed
	Deleted // kept as a record of its deletion; it names no content
)

// Writer is what the application does. Each method is one transaction: ErrRefused.
type Writer interface {
	// Put counts a reference to the content, which it makes where it is missing, and
	// inserts the row.
	Put(ctx context.Context, r Row) error
	// Extend lets the row end at another time.
	Extend(ctx context.Context, key string, in time.Duration) error
	// Replace lets the row name another content, and counts both.
	Replace(ctx context.Context, key, content string) error
	// Delete removes the row and counts its content down.
	Delete(ctx context.Context, key string) error
}

// Meddler is what other hands do, past every rule.
type Meddler interface {
	// Refer inserts a row without counting and without asking the guard.
	Refer(ctx context.Context, r Row) error
	// SetCount makes the content's count n; it makes the content where it is missing.
	SetCount(ctx context.Context, content string, n int64) error
	// Forget removes the row of a content that no row refers to.
	Forget(ctx context.Context, content string) error
	// Pin lets a row of another table refer to the row, by a foreign key that does not
	// cascade, or takes that row away. With Variant.Shared it refers to the content of that
	// key, and is not counted.
	Pin(ctx context.Context, key string, pinned bool) error
	// Lock holds the content as a transaction does that is about to change it, until
	// unlock: ErrAlone.
	Lock(ctx context.Context, content string) (unlock func(), err error)
}

// Viewer looks at the application's tables.
type Viewer interface {
	State(ctx context.Context, key string) (State, error)
	// Count returns a content's count, and whether the content is there.
	Count(ctx context.Context, content string) (n int64, there bool, err error)
}

// Application is the owner of the tables. A row's copy is cached under CopyOf(key),
// a content's object is ObjectOf(content).
type Application interface {
	Writer
	Meddler
	Viewer
	// Pass lets time pass, for the application and for what adopts it.
	Pass(d time.Duration)
}

// CopyOf is the key of a row's copy in the cache: "paste:{key}".
func CopyOf(key string) string { return "paste:" + key }

// CopyByContent is the key of another copy of a row that names the content, with
// Variant.ByContent: "content:{content}".
func CopyByContent(content string) string { return "content:" + content }

// ObjectOf is the key of a content's object: "content/{content}".
func ObjectOf(content string) string { return "content/" + content }

// Variant is what a description may choose.
type Variant struct {
	Keep      bool // rows that end are kept as Deleted
	Uncounted bool // contents have no count: references are looked up
	Unclaimed bool // rows have no columns for a claim: they are taken
	ByContent bool // rows are cached under what they name as well
	Seconds   bool // a claim's instant is kept in whole seconds
	// Shared: the other table refers to contents, not to rows.
	Shared bool
	// Quarantine: objects are moved away, and no guard refuses references.
	Quarantine bool
}

// Site is one collection, empty at first, with adopt.DefaultGrace and a guard. Its
// settled copies, contents and rows are those of App.
type Site struct {
	adopt.Records
	adopt.Contents
	adopt.Cached
	adopt.Holder
	Taker adopt.Taker
	Ender adopt.Ender
	// Quarantine is the record of objects that were moved away.
	Quarantine adopt.QuarantineRows
	// Troubles is the record of what is wrong.
	Troubles adopt.TroubleRows
	App      Application
}

// Open makes a site. It skips the test if it does not know the variant.
type Open func(t *testing.T, v Variant) Site

type test struct {
	name string
	run  func(w *world)
	in   Variant
}

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for _, tests := range [][]test{recordTests(), cachedTests(), contentTests(), confirmTests(), holdTests(), variantTests(), takeTests(), endTests(), refusedTests(), quarantineTests(), troubleTests(), sharedTests()} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(&world{T: t, Site: open(t, c.in), ctx: t.Context()})
			})
		}
	}
}

// world is a test of a site.
type world struct {
	*testing.T
	Site
	ctx context.Context
}

var grace = adopt.DefaultGrace

// margin is how far before an instant a test looks: longer than a step takes on a busy
// machine.
const margin = 30 * time.Second

// must fails the test with an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func must[T any](v T, err error) func(w *world) T {
	return func(w *world) T {
		w.Helper()
		w.must(err)
		return v
	}
}

func equal[T any](w *world, what string, got, want T) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// put inserts rows that end after in and name the content.
func (w *world) put(content string, in time.Duration, keys ...string) {
	w.Helper()
	for _, k := range keys {
		w.must(w.App.Put(w.ctx, Row{k, content, in}))
	}
}

// refused is a Put that the guard has to refuse.
func (w *world) refused(content string) {
	w.Helper()
	if err := w.App.Put(w.ctx, Row{"late", content, Never}); !errors.Is(err, ErrRefused) {
		w.Fatalf("a row that names condemned content %s: %v, want ErrRefused", content, err)
	}
	if got := must(w.App.State(w.ctx, "late"))(w); got != Absent {
		w.Errorf("the refused row is %v", got)
	}
}

// claim takes all that is due and returns it, with the keys in order.
func (w *world) claim(limit int) (adopt.Claim, []string) {
	w.Helper()
	c := must(w.Claim(w.ctx, limit))(w)
	keys := []string{}
	for _, r := range c.Rows {
		keys = append(keys, r.Key)
	}
	return c, keys
}

// settle settles a claim as it has to.
func (w *world) settle(c adopt.Claim, want adopt.Settled) {
	w.Helper()
	equal(w, "settled", must(w.Settle(w.ctx, c, grace.CacheAgain))(w), want)
}

// states compares those of rows: "a Live".
func (w *world) states(want map[string]State) {
	w.Helper()
	got := map[string]State{}
	for k := range want {
		got[k] = must(w.App.State(w.ctx, k))(w)
	}
	equal(w, "states", got, want)
}

// absent stands for the count of a content that is not there.
const absent = -1

// counts compares those of contents.
func (w *world) counts(want map[string]int64) {
	w.Helper()
	got := map[string]int64{}
	for k := range want {
		n, there, err := w.App.Count(w.ctx, k)
		w.must(err)
		if !there {
			n = absent
		}
		got[k] = n
	}
	equal(w, "counts", got, want)
}

// expire lets every row that is due go.
func (w *world) expire() adopt.Settled {
	w.Helper()
	c, _ := w.claim(1000)
	return must(w.Settle(w.ctx, c, grace.CacheAgain))(w)
}

// mark condemns what is due.
func (w *world) mark() adopt.Marked {
	w.Helper()
	return must(w.Mark(w.ctx, adopt.MarkRequest{Limit: 100, Late: grace.Late}))(w)
}

// condemned lets the only reference to each content end, and marks all of them.
func (w *world) condemned(contents ...string) adopt.Marked {
	w.Helper()
	for _, c := range contents {
		w.put(c, -time.Second, "of "+c)
	}
	w.expire()
	w.App.Pass(grace.Unreferenced)
	m := w.mark()
	if len(m.Contents) != len(contents) {
		w.Fatalf("marked %+v, want %v", m, contents)
	}
	return m
}

// confirm records outcomes as it has to.
func (w *world) confirm(fence int64, want adopt.Confirmed, outcomes ...adopt.Outcome) {
	w.Helper()
	equal(w, "confirmed", must(w.Confirm(w.ctx, fence, outcomes, grace))(w), want)
}

// gone are outcomes of objects that were deleted.
func gone(contents ...string) (out []adopt.Outcome) {
	for _, c := range contents {
		out = append(out, adopt.Outcome{Content: c})
	}
	return out
}

func names(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s%03d", prefix, i))
	}
	return out
}
