package memledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// walksKept is how many finished walks of each backend are kept.
const walksKept = 30

// walking is the walks over backends and their findings.
type walking struct {
	walks    []*ledger.Walk // by id
	findings table[*ledger.Finding]
}

func findingsByKey(a, b *ledger.Finding) int {
	return cmp.Or(strings.Compare(a.Backend, b.Backend), strings.Compare(a.Key, b.Key))
}

// BeginWalk begins a walk over a backend, or returns the interrupted one:
// ErrBackendMismatch.
func (db *DB) BeginWalk(ctx context.Context, s ledger.WalkStart) (ledger.Walk, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Walk{}, err
	}
	defer db.mu.Unlock()
	if db.backend(s.Backend) == nil {
		return ledger.Walk{}, noBackend(s.Backend)
	}
	for _, w := range db.walking.walks {
		if w.Backend != s.Backend || w.FinishedAt != 0 {
			continue
		}
		if db.now.Sub(w.StartedAt) < s.GiveUp {
			return copyWalk(w), nil
		}
		w.SavedAt, w.FinishedAt, w.Outcome = db.now, db.now, "given up: it was cut off too long ago"
	}
	w := &ledger.Walk{ID: s.ID, Backend: s.Backend, StartedAt: db.now, SavedAt: db.now}
	db.walking.walks = append(db.walking.walks, w)
	slices.SortFunc(db.walking.walks, func(a, b *ledger.Walk) int { return compareIDs(a.ID, b.ID) })
	return copyWalk(w), nil
}

func copyWalk(w *ledger.Walk) ledger.Walk {
	out := *w
	out.Counts = ledger.CloneMap(w.Counts)
	return out
}

// walk returns a walk in progress: ErrFenced.
func (db *DB) walk(id lethe.ID) (*ledger.Walk, error) {
	for _, w := range db.walking.walks {
		if w.ID == id && w.FinishedAt == 0 {
			return w, nil
		}
	}
	return nil, fmt.Errorf("memledger: walk %s is not in progress: %w", id, lethe.ErrFenced)
}

// SaveWalk advances a walk: ErrFenced.
func (db *DB) SaveWalk(ctx context.Context, s ledger.WalkStep) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	w, err := db.walk(s.ID)
	if err != nil {
		return err
	}
	if w.Place != s.From {
		return fmt.Errorf("memledger: walk %s is at %q, not at %q: %w", s.ID, w.Place, s.From, lethe.ErrFenced)
	}
	w.Place, w.SavedAt, w.Counts = s.To, db.now, ledger.CloneMap(s.Counts)
	return nil
}

// Walks returns the newest walks over a backend, newest first.
func (db *DB) Walks(ctx context.Context, backend string, limit int) ([]ledger.Walk, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Walk
	for _, w := range slices.Backward(db.walking.walks) {
		if w.Backend == backend && (limit <= 0 || len(out) < limit) {
			out = append(out, copyWalk(w))
		}
	}
	return out, nil
}

// BlobStubs returns a page of all blobs by id.
func (db *DB) BlobStubs(ctx context.Context, after lethe.ID, limit int) ([]ledger.Stub, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Stub
	for _, b := range first(db.blobs.from(func(b *blob) bool { return b.ID > after }), limit) {
		out = append(out, ledger.Stub{ID: b.ID, Backend: b.Backend, State: b.State, Size: b.Size})
	}
	return out, nil
}

// Sight records what a walk found: ErrFenced.
func (db *DB) Sight(ctx context.Context, s ledger.Sighting) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	w, err := db.walk(s.Walk)
	if err != nil {
		return 0, err
	}
	have := len(db.findingsOf(w.Backend))
	recorded := 0
	for _, f := range s.Findings {
		f.Backend, f.FirstAt, f.FirstWalk, f.LastAt, f.LastWalk = w.Backend, db.now, w.ID, db.now, w.ID
		old := db.finding(w.Backend, f.Key)
		switch {
		case old != nil && old.Kind == f.Kind:
			f.FirstAt, f.FirstWalk = old.FirstAt, old.FirstWalk
			*old = f
		case old != nil:
			*old = f
		case s.Limit > 0 && have >= s.Limit:
			continue
		default:
			have++
			db.walking.findings.put(&f)
		}
		recorded++
	}
	return recorded, nil
}

func (db *DB) findingsOf(backend string) []*ledger.Finding {
	return db.walking.findings.between(
		func(f *ledger.Finding) bool { return f.Backend >= backend },
		func(f *ledger.Finding) bool { return f.Backend > backend })
}

func (db *DB) finding(backend, key string) *ledger.Finding {
	for _, f := range db.findingsOf(backend) {
		if f.Key == key {
			return f
		}
	}
	return nil
}

// Findings returns a page of what walks have found.
func (db *DB) Findings(ctx context.Context, q ledger.FindingQuery) ([]ledger.Finding, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	after := &ledger.Finding{Backend: q.AfterBackend, Key: q.AfterKey}
	var out []ledger.Finding
	for _, f := range db.walking.findings.rows {
		if findingsByKey(f, after) > 0 && (q.Backend == "" || f.Backend == q.Backend) && (q.Kind == "" || f.Kind == q.Kind) &&
			(q.Limit <= 0 || len(out) < q.Limit) {
			out = append(out, *f)
		}
	}
	return out, nil
}

// FinishWalk ends a walk: ErrFenced.
func (db *DB) FinishWalk(ctx context.Context, e ledger.WalkEnd) (out ledger.WalkEnded, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.mu.Unlock()
	w, err := db.walk(e.ID)
	if err != nil {
		return out, err
	}
	for _, f := range slices.Clone(db.findingsOf(w.Backend)) {
		if w.Place != ledger.WalkDone || f.LastWalk == w.ID {
			continue
		}
		if db.soundAgain(f) {
			out.Healed++
		} else {
			out.Gone++
		}
		db.walking.findings.drop(f)
	}
	counts := maps.Clone(e.Counts)
	if counts == nil {
		counts = map[string]int64{}
	}
	if out.Healed > 0 {
		counts["healed"] = int64(out.Healed)
	}
	w.SavedAt, w.FinishedAt, w.Outcome, w.Counts = db.now, db.now, e.Outcome, ledger.CloneMap(counts)
	db.pruneWalks(w.Backend)
	return out, nil
}

// soundAgain reports whether bytes found missing or damaged have a sound copy.
func (db *DB) soundAgain(f *ledger.Finding) bool {
	if f.Content == "" || f.Kind != ledger.FoundMissing && f.Kind != ledger.FoundSize {
		return false
	}
	return len(db.soundCopies(f.Content, f.Segment, "")) > 0
}

// soundCopies counts the live copies of a segment that are not suspect, except one.
func (db *DB) soundCopies(content lethe.ID, segment int, but lethe.ID) (out []*blob) {
	if db.byContent[content] == nil {
		return nil
	}
	for _, b := range db.byContent[content].rows {
		if b.Segment == segment && b.ID != but && b.State == lethe.Live && !b.Suspect {
			out = append(out, b)
		}
	}
	return out
}

// pruneWalks removes the oldest finished walks over a backend.
func (db *DB) pruneWalks(backend string) {
	kept := 0
	for _, w := range slices.Backward(db.walking.walks) {
		if w.Backend != backend {
			continue
		}
		if kept++; kept > walksKept+1 && w.FinishedAt != 0 {
			db.walking.walks = slices.DeleteFunc(db.walking.walks, func(o *ledger.Walk) bool { return o == w })
		}
	}
}

// forgetWalks removes the walks and findings of a backend that is removed.
func (db *DB) forgetWalks(backend string) {
	db.walking.walks = slices.DeleteFunc(db.walking.walks, func(w *ledger.Walk) bool { return w.Backend == backend })
	for _, f := range slices.Clone(db.findingsOf(backend)) {
		db.walking.findings.drop(f)
	}
}
