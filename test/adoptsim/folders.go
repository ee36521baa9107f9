package adoptsim

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// folderSite is an application with a folder for each of its rows.
type folderSite struct {
	table
	rules   adopt.FolderRules
	page    int
	backend *clock
	record  *memadopt.Folders
	folderOracle

	marking sync.Mutex // markers are put several at once
}

// Names of folders: those that the application makes and removes, and those that it
// keeps, so that the others are never most of all.
const (
	folders = 4
	anchors = 6
)

// sendsWithin is how long after it was looked objects of a folder are deleted.
const sendsWithin = 30 * time.Second

func newFolderSite(w *world) *folderSite {
	w.grace.Late = w.pick(3*time.Minute, 15*time.Minute)
	w.kind.faults = 2 + w.rng.Uint64N(20)
	s := &folderSite{
		page: 2 + w.rng.IntN(2), backend: &clock{w: w, ahead: w.pick(0, 20*time.Second, -20*time.Second)},
		rules: adopt.FolderRules{
			Depth: 1, MinAge: w.pick(10*time.Minute, time.Hour), Retention: w.pick(40*time.Minute, 3*time.Hour),
			Interval: w.pick(10*time.Minute, 40*time.Minute), Most: []int{1, 2, 1000}[w.rng.IntN(3)], Least: 0.5,
		},
	}
	db := &clock{w: w}
	s.record = memadopt.NewFolders(db)
	s.table = table{
		w: w, times: times{s.rules.MinAge, s.rules.Retention, s.rules.Interval}, db: db, rows: s.record, objects: newPile(w, s.backend),
		row: func(name string) string { return name },
	}
	s.keeper = newKeeper(w, s.record, db, func() bool { name, _ := s.looked(); return name != "" }, s.chosen)
	s.folderOracle = newFolderOracle(s)
	s.populate(func(name string) string { return name + "/data" }, func(r *run) routine { return s.routine(r) }, s.ended, s.serve)
	for range 2 {
		w.enter("racer", s.race)
	}
	if w.rng.IntN(3) == 0 {
		s.jumps = true
		w.enter("clock", s.jump)
	}
	if w.cfg.Seed%3 == 0 {
		w.enter("holder", s.keeper.keep)
	}
	return s
}

func (s *folderSite) routine(r *run) *adopt.Folders {
	return &adopt.Folders{
		Collection: "folders", Rules: s.rules, Rows: folderRows{s, r}, Store: folderStore{s.objects, s, r}, Page: s.page, Boot: s.w,
	}
}

// nap is about as long as a delete may be sent, a run may be silent, or longer.
func (s *folderSite) nap(a *actor) {
	long := a.between(0, sendsWithin)
	switch a.rng.IntN(5) {
	case 0:
		long = a.between(sendsWithin, 3*silent)
	case 1:
		long = a.between(silent, s.rules.Interval+s.rules.MinAge)
	case 2:
		long = a.between(s.rules.Retention, 2*s.rules.Retention)
	}
	if a.moment != nil {
		long = s.rules.MinAge + 4*(s.rules.Interval+s.rules.Retention)
	}
	a.sleepUntil(a.moment, long)
	s.w.note("%s wakes", a.name)
}

// end lets every folder without a row go, and looks at what is left.
func (s *folderSite) end() {
	s.quiet(4+3*folders, func() {})
	s.w.fail(s.left())
}

// folderRows are the rows as workers see them.
type folderRows struct {
	s *folderSite
	r *run
}

func (f folderRows) Look(ctx context.Context) (adopt.FolderView, error) {
	return read(f.s.w, "look", "", func() (adopt.FolderView, error) {
		f.r.looked, f.r.rows = f.s.w.now, max(f.s.last, f.s.rowsSeen())
		return f.s.record.Look(ctx)
	})
}

func (f folderRows) Note(ctx context.Context, v adopt.FolderView, names []string) error {
	_, err := write(f.s.w, "note", strings.Join(names, " "), func() (struct{}, error) {
		f.s.w.fail(f.s.noted(f.r, v.Rows, names))
		err := f.s.record.Note(ctx, v, names)
		after, _ := f.s.record.Look(ctx)
		f.s.w.fail(f.s.stands(after.Last))
		return struct{}{}, err
	})
	return err
}

func (f folderRows) Condemn(ctx context.Context, names []string, floor int64) ([]string, error) {
	return write(f.s.w, "condemn", strings.Join(names, " "), func() ([]string, error) {
		before, _ := f.s.record.Look(ctx)
		out, err := f.s.record.Condemn(ctx, names, floor)
		f.s.w.fail(f.s.condemned(f.r, out, before.Known))
		return out, err
	})
}

func (f folderRows) Marked(ctx context.Context, folders []adopt.KnownFolder) error {
	var names []string
	for _, k := range folders {
		names = append(names, k.Name)
	}
	_, err := write(f.s.w, "marked", strings.Join(names, " "), func() (struct{}, error) {
		f.r.did["marked"] += int64(len(names))
		return struct{}{}, f.s.record.Marked(ctx, folders)
	})
	return err
}

func (f folderRows) Forget(ctx context.Context, k adopt.KnownFolder) error {
	if a := f.s.w.cur; a != nil && a.one(2) {
		a.moment = func() bool { return f.s.anew(k) }
		defer func() { a.moment = nil }()
	}
	_, err := write(f.s.w, "forget", k.Name, func() (struct{}, error) {
		before := f.s.known(k.Name)
		err := f.s.record.Forget(ctx, k)
		f.s.w.fail(f.s.forgets(f.r, k, before))
		return struct{}{}, err
	})
	return err
}

func (f folderRows) Proceed(ctx context.Context, k adopt.KnownFolder, floor int64) (adopt.Verdict, error) {
	var at *pageLook
	v, err := write(f.s.w, "proceed", k.Name, func() (adopt.Verdict, error) {
		before := f.s.known(k.Name)
		v, err := f.s.record.Proceed(ctx, k, floor)
		if v == adopt.Orphan {
			at = &pageLook{folder: k.Name, began: f.r.step}
			f.s.w.fail(f.s.proceeds(f.r, before, at))
		}
		return v, err
	})
	if err == nil && v == adopt.Orphan {
		f.r.look = at
	}
	return v, err
}

func (f folderRows) Purged(ctx context.Context, k adopt.KnownFolder, keys []string) error {
	_, err := write(f.s.w, "purged", strings.Join(keys, " "), func() (struct{}, error) {
		f.s.w.fail(f.s.purged(f.r, keys))
		return struct{}{}, f.s.record.Purged(ctx, k, keys)
	})
	return err
}

func (f folderRows) Gone(ctx context.Context, k adopt.KnownFolder) error {
	_, err := write(f.s.w, "gone", k.Name, func() (struct{}, error) {
		f.s.w.fail(f.s.gone(f.r, k.Name))
		return struct{}{}, f.s.record.Gone(ctx, k)
	})
	return err
}

func (f folderRows) Pending(ctx context.Context, retention time.Duration) (adopt.Backlog, error) {
	return f.s.record.Pending(ctx, retention)
}

// folderStore is the bucket as workers see it.
type folderStore struct {
	*pile
	s *folderSite
	r *run
}

func (b folderStore) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	told := false
	err := b.pile.List(ctx, prefix, after, func(i blob.Info) error {
		err := fn(i)
		told = err != nil // it has enough
		return err
	})
	b.r.broke = b.r.broke || err != nil && !told
	if prefix != "" {
		b.s.listing, b.s.listedAt = strings.TrimSuffix(prefix, "/"), b.s.w.now
	}
	return err
}

func (b folderStore) Stat(ctx context.Context, key string) (blob.Info, error) {
	if strings.HasPrefix(key, ".lethe/") {
		return b.stat(key)
	}
	if b.r.putting() {
		b.s.marking.Lock()
		defer b.s.marking.Unlock()
		return b.stat(key)
	}
	return b.pile.Stat(ctx, key)
}

// Put puts a marker, or the probe of the clock. Markers are put several at once, in
// threads of their own, which no schedule tells apart: none of them waits here.
func (b folderStore) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if !b.r.putting() {
		return b.pile.Put(ctx, key, r, size)
	}
	b.s.marking.Lock()
	defer b.s.marking.Unlock()
	if err := blob.Check(ctx); err != nil {
		return err
	}
	return b.s.putMarker(b.r, key)
}

// putting reports whether its step puts markers.
func (r *run) putting() bool { return len(r.condemned) > 0 }

// putMarker puts a marker now, or late, or never.
func (s *folderSite) putMarker(r *run, key string) error {
	h := mix(mix(s.w.cfg.Seed)^mix(uint64(len(r.marked)))^uint64(key[1])^uint64(r.step)) >> 8
	unknown := fmt.Errorf("sim: put %s: %w", key, blob.ErrUnknown)
	put := func() { _ = s.objects.create(key) }
	if s.w.quiet || h%1000 > s.w.kind.faults*8 {
		s.marks(r, key)
		return s.objects.create(key)
	}
	switch h >> 32 % 4 {
	case 0:
		return fmt.Errorf("sim: put %s: %w", key, blob.ErrNotDone)
	case 1:
		return unknown
	case 2:
		put()
		return unknown
	}
	s.strays[strings.TrimSuffix(key, "/"+adopt.Marker)] = true
	after := time.Duration(h%uint64(s.w.grace.Late)) + time.Duration(key[1])
	s.w.lands(landing{"marker", []string{key}, s.w.now.Add(after), put})
	return unknown
}

func (b folderStore) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if strings.HasPrefix(keys[0], ".lethe/") { // the probe of the clock
		delete(b.objects, keys[0])
		return []blob.Result{{Key: keys[0]}}, nil
	}
	return bucket{b.s.w, sendsWithin, func(keys []string) func([]string) {
		sent := b.s.sends(b.r, keys)
		return func(keys []string) {
			for _, key := range keys {
				b.s.w.fail(b.s.loses(sent, key))
				delete(b.objects, key)
			}
		}
	}}.Delete(ctx, keys)
}

// anew reports whether a folder is on record with another marker, in the same state.
func (s *folderSite) anew(k adopt.KnownFolder) bool {
	have := s.known(k.Name)
	return have.State == k.State && have.MarkedAt != k.MarkedAt
}

// known is a folder on record, zero if it is not.
func (s *folderSite) known(name string) adopt.KnownFolder {
	v, _ := s.record.Look(context.Background())
	for _, k := range v.Known {
		if k.Name == name {
			return k
		}
	}
	return adopt.KnownFolder{}
}

// markerOf is the key of a folder's marker.
func markerOf(folder string) string { return folder + "/" + adopt.Marker }

// second leaves out the fraction, as the bucket does.
func second(t lethe.Time) lethe.Time { return t - t%lethe.Time(time.Second/time.Microsecond) }
