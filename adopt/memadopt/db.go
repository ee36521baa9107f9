package memadopt

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Options of a DB.
type Options struct {
	// Clock is the database's clock, the only one.
	Clock lethe.Clock
	Grace adopt.Grace
	// Copies returns the keys under which the application caches a row; nil if
	// it has no cache.
	Copies func(r Row) []string
	// Unit is what the time of a claim is kept in: a second, where the column has
	// no fractions. 0 keeps it as it is.
	Unit time.Duration
	// Keep keeps expired rows as deleted, without a content.
	Keep bool
	// Uncounted contents have no count; references are looked up.
	Uncounted bool
	// Numbered contents have a number as their key. The application looks them up by their
	// objects, and another one may get an object whose content is gone.
	Numbered bool
	// Quarantine is set if objects are moved, and no guard refuses references.
	Quarantine bool
	// Shared: the rows that Pin sets refer to contents, not to rows.
	Shared bool
	// Unguarded marks contents without a guard. No adapter does that: it shows
	// what the guard is for.
	Unguarded bool
	// Owns are templates of the keys of what each row owns, over its columns
	// key and name; there are no contents then. All keys are below Prefix.
	Owns   []string
	Prefix string
}

// Status is the state of a row.
type Status string

// The states of a row.
const (
	Live    Status = "live"
	Claimed Status = "claimed"
	Deleted Status = "deleted" // kept, with Options.Keep
)

// Row is a row that expires.
type Row struct {
	Key     string
	Content string
	Name    string     // another name, by which the application may cache it; may be empty
	End     lethe.Time // 0 is never
	Status  Status
	At      lethe.Time // of its claim
}

// Content is what rows refer to.
type Content struct {
	Key    string
	Object string
	Count  int64
}

// State is the state of a Mark.
type State int

// The states of a Mark. In the last two the guard refuses references.
const (
	Waiting   State = 1
	Condemned State = 2 // its object may be gone at any time
	Gone      State = 3 // the mark stays until it is due
)

// Mark is a content that is to be deleted, or was.
type Mark struct {
	adopt.Condemned
	State    State
	Due      lethe.Time
	Fence    int64
	Unseen   lethe.Time // until then a delete may yet take effect
	Attempts int
}

// DB is the database. It is safe for concurrent use.
type DB struct {
	o    Options
	owns owning

	mu        sync.Mutex
	rows      map[string]*Row
	contents  map[string]*Content
	marks     map[string]*Mark
	moved     map[string]*Quarantined
	uploads   []adopt.Upload // by keys and fences
	again     []again
	troubles  troubles
	holds     held
	locked    map[string]int  // contents locked by open transactions of the application
	pinned    map[string]bool // rows, or contents, that a row of another table refers to
	unguarded bool
	fence     int64
	ids       int64
}

type again struct {
	adopt.Again
	due lethe.Time
}

var (
	_ adopt.Records  = (*DB)(nil)
	_ adopt.Ender    = (*DB)(nil)
	_ adopt.Contents = (*DB)(nil)
	_ adopt.Cached   = (*DB)(nil)
)

// New returns an empty, guarded database.
func New(o Options) *DB {
	o.Uncounted = o.Uncounted || len(o.Owns) > 0
	return &DB{
		o: o, owns: newOwning(o.Owns, o.Prefix), holds: held{clock: o.Clock}, rows: map[string]*Row{}, contents: map[string]*Content{},
		marks: map[string]*Mark{}, locked: map[string]int{}, moved: map[string]*Quarantined{}, pinned: map[string]bool{}, unguarded: o.Quarantine || o.Unguarded,
		troubles: troubles{missing: map[string]bool{}, drifted: map[string]lethe.Time{}},
	}
}

// Snapshot is everything in a DB, by key.
type Snapshot struct {
	Rows     []Row
	Contents []Content
	Marks    []Mark
	Moved    []Quarantined
	Again    int // batches of copies to be dropped once more
	Holds    adopt.Holds
}

// Snapshot returns everything at one instant.
func (db *DB) Snapshot() Snapshot {
	db.mu.Lock()
	defer db.mu.Unlock()
	return Snapshot{values(db.rows), values(db.contents), values(db.marks), values(db.moved), len(db.again), db.holds.standing()}
}

// Rows returns the rows at one instant.
func (db *DB) Rows() []Row {
	db.mu.Lock()
	defer db.mu.Unlock()
	return values(db.rows)
}

// Marks returns the marks at one instant.
func (db *DB) Marks() []Mark {
	db.mu.Lock()
	defer db.mu.Unlock()
	return values(db.marks)
}

// values returns copies of a map's values in the order of its keys.
func values[V any](m map[string]*V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, *m[k])
	}
	return out
}

// dueFirst returns the chosen values, by an instant and then by key.
func dueFirst[V any](m map[string]*V, chosen func(*V) bool, at func(*V) lethe.Time) []*V {
	var out []*V
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if v := m[k]; chosen(v) {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b *V) int { return cmp.Compare(at(a), at(b)) })
	return out
}

// up limits a list.
func up[V any](list []V, limit int) []V { return list[:min(len(list), max(limit, 0))] }

// referenced reports whether rows refer to a content, or own an object.
func (db *DB) referenced(content string) bool {
	if db.o.Shared && db.pinned[content] {
		return true
	}
	for _, r := range db.rows {
		if r.Content == content || slices.Contains(db.owns.of(r), content) {
			return true
		}
	}
	return false
}
