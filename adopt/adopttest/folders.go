package adopttest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Names is an application with rows that name a folder, or a key, each.
type Names interface {
	Insert(ctx context.Context, name string) error
	// Remove removes all rows of a name.
	Remove(ctx context.Context, name string) error
	// Pass lets time pass for the database.
	Pass(d time.Duration)
}

// FolderSite is one collection of folders, empty at first.
type FolderSite struct {
	adopt.FolderRows
	adopt.Holder
	App Names
}

// RunFolders runs the suite of rows that name folders.
func RunFolders(t *testing.T, open func(t *testing.T) FolderSite) {
	for name, run := range map[string]func(f *folders){
		"rows are counted, names are told":           lookFolders,
		"what was seen is noted once":                noteFolders,
		"condemns what was seen and has no row":      condemnFolders,
		"too few rows condemn nothing":               condemnFew,
		"a marker is recorded once":                  markedOnce,
		"forgets a folder as it is known only":       forgetFolders,
		"proceeds with what is marked":               proceedOrphan,
		"a row stops it":                             proceedRow,
		"another record stops it":                    proceedChanged,
		"too few rows stop it":                       proceedFew,
		"what was purged is counted, and ends":       purgedFolders,
		"counts folders whose retention is over":     pendingFolders,
		"a folder that was forgotten begins anew":    seenAnew,
		"what is not seen is not condemned, nor was": condemnUnseen,
		"a count is not put back by an older look":   noteLate,
		"a hold keeps a folder from its marker":      heldFromMarker,
		"a hold keeps a folder from being purged":    heldFromPurge,
		"a hold tells which folders are purged":      heldPurging,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := open(t)
			run(&folders{&world{T: t, ctx: t.Context(), Site: Site{Holder: site.Holder}}, site.FolderRows, site.App})
		})
	}
}

// folders is a test of a FolderSite.
type folders struct {
	*world
	adopt.FolderRows
	app Names
}

// markerAt is when a marker was put, by the backend's clock.
const markerAt = lethe.Time(5_000_000)

func (f *folders) insert(names ...string) {
	f.Helper()
	for _, n := range names {
		f.must(f.app.Insert(f.ctx, n))
	}
}

func (f *folders) look() adopt.FolderView {
	f.Helper()
	return must(f.Look(f.ctx))(f.world)
}

// states compares the record: how far each folder is.
func (f *folders) states(want map[string]adopt.FolderState) {
	f.Helper()
	got := map[string]adopt.FolderState{}
	for _, k := range f.look().Known {
		got[k.Name] = k.State
	}
	equal(f.world, "on record", got, want)
}

// marked takes a folder without a row until its marker is recorded.
func (f *folders) marked(name string) adopt.KnownFolder {
	f.Helper()
	f.note(1, name)
	equal(f.world, "condemned", must(f.Condemn(f.ctx, []string{name}, 0))(f.world), []string{name})
	f.must(f.Marked(f.ctx, []adopt.KnownFolder{{Name: name, MarkerAt: markerAt}}))
	return f.known(name)
}

func (f *folders) known(name string) adopt.KnownFolder {
	f.Helper()
	for _, k := range f.look().Known {
		if k.Name == name {
			return k
		}
	}
	f.Fatalf("%s is not on record", name)
	return adopt.KnownFolder{}
}

// note notes a look of now, of so many rows, and folders.
func (f *folders) note(rows int64, names ...string) {
	f.Helper()
	v := f.look()
	v.Rows = rows
	f.must(f.Note(f.ctx, v, names))
}

func lookFolders(f *folders) {
	v := f.look()
	equal(f.world, "of nothing", len(v.Live)+len(v.Known)+int(v.Rows)+int(v.Last), 0)
	f.insert("a", "b", "b")
	f.app.Pass(time.Hour)
	w := f.look()
	equal(f.world, "live", w.Live, map[string]bool{"a": true, "b": true})
	equal(f.world, "rows", w.Rows, 3)
	if passed := w.Now.Sub(v.Now); passed < time.Hour || passed > 2*time.Hour {
		f.Errorf("an hour is %v by the database's clock", passed)
	}
	f.must(f.app.Remove(f.ctx, "b"))
	equal(f.world, "live then", f.look().Live, map[string]bool{"a": true})
}

func noteFolders(f *folders) {
	f.note(7)
	f.note(3, "x", "y")
	equal(f.world, "rows of the last run", f.look().Last, 3)
	f.must(second(f.Condemn(f.ctx, []string{"x"}, 0)))
	f.note(3, "x", "z")
	f.states(map[string]adopt.FolderState{"x": adopt.FolderMarking, "y": adopt.FolderSeen, "z": adopt.FolderSeen})
}

func condemnFolders(f *folders) {
	f.insert("a", "x")
	f.note(1, "x", "y", "z")
	for range 2 { // a marker that was not recorded is put once more
		equal(f.world, "condemned", must(f.Condemn(f.ctx, []string{"y", "x"}, 2))(f.world), []string{"y"})
		f.states(map[string]adopt.FolderState{"x": adopt.FolderSeen, "y": adopt.FolderMarking, "z": adopt.FolderSeen})
	}
}

// What is not on record as seen is another worker's by now, or lives.
func condemnUnseen(f *folders) {
	f.marked("x")
	equal(f.world, "condemned", len(must(f.Condemn(f.ctx, []string{"x", "unknown"}, 0))(f.world)), 0)
	f.states(map[string]adopt.FolderState{"x": adopt.FolderMarked})
}

func condemnFew(f *folders) {
	f.insert("a", "a")
	f.note(1, "x")
	if _, err := f.Condemn(f.ctx, []string{"x"}, 3); !errors.Is(err, adopt.ErrFewRows) {
		f.Errorf("two rows of three: %v", err)
	}
	f.states(map[string]adopt.FolderState{"x": adopt.FolderSeen})
}

func markedOnce(f *folders) {
	began := f.look().Now
	k := f.marked("x")
	if k.State != adopt.FolderMarked || k.MarkerAt != markerAt || k.MarkedAt < began {
		f.Errorf("on record is %+v", k)
	}
	f.app.Pass(time.Hour)
	f.note(1, "seen")
	f.must(f.Marked(f.ctx, []adopt.KnownFolder{{Name: "x", MarkerAt: 1}, {Name: "seen", MarkerAt: 1}, {Name: "unknown", MarkerAt: 1}}))
	equal(f.world, "recorded again", f.known("x"), k)
	f.states(map[string]adopt.FolderState{"x": adopt.FolderMarked, "seen": adopt.FolderSeen})
}

// A worker that stood still must not forget a marker that was put since.
func forgetFolders(f *folders) {
	k := f.marked("x")
	for _, other := range []adopt.KnownFolder{
		{Name: "x", State: adopt.FolderSeen},
		{Name: "x", State: k.State, MarkedAt: k.MarkedAt - 1, MarkerAt: k.MarkerAt},
		{Name: "x", State: k.State, MarkedAt: k.MarkedAt, MarkerAt: k.MarkerAt - 1},
	} {
		f.must(f.Forget(f.ctx, other))
		f.states(map[string]adopt.FolderState{"x": adopt.FolderMarked})
	}
	f.must(f.Forget(f.ctx, k))
	f.states(map[string]adopt.FolderState{})
}

func seenAnew(f *folders) {
	f.must(f.Forget(f.ctx, f.marked("x")))
	f.note(1, "x")
	equal(f.world, "on record", f.known("x"), adopt.KnownFolder{Name: "x", State: adopt.FolderSeen})
}

// verdict is what Proceed says of a folder.
func (f *folders) verdict(k adopt.KnownFolder, floor int64, want adopt.Verdict) {
	f.Helper()
	equal(f.world, "the verdict", must(f.Proceed(f.ctx, k, floor))(f.world), want)
}

func proceedOrphan(f *folders) {
	f.insert("a", "b")
	k := f.marked("x")
	for range 2 {
		f.verdict(k, 2, adopt.Orphan)
		f.states(map[string]adopt.FolderState{"x": adopt.FolderPurging})
	}
}

func proceedRow(f *folders) {
	k := f.marked("x")
	f.insert("x")
	f.verdict(k, 0, adopt.HasRow)
	f.states(map[string]adopt.FolderState{"x": adopt.FolderMarked})
}

func proceedChanged(f *folders) {
	k := f.marked("x")
	for _, other := range []adopt.KnownFolder{
		{Name: "x", MarkedAt: k.MarkedAt + 1, MarkerAt: k.MarkerAt}, {Name: "x", MarkedAt: k.MarkedAt, MarkerAt: k.MarkerAt + 1},
		{Name: "unknown", MarkedAt: k.MarkedAt, MarkerAt: k.MarkerAt},
	} {
		f.verdict(other, 0, adopt.Changed)
	}
	f.note(1, "seen")
	f.verdict(adopt.KnownFolder{Name: "seen"}, 0, adopt.Changed)
	f.states(map[string]adopt.FolderState{"x": adopt.FolderMarked, "seen": adopt.FolderSeen})
}

func proceedFew(f *folders) {
	f.insert("a")
	k := f.marked("x")
	if _, err := f.Proceed(f.ctx, k, 2); !errors.Is(err, adopt.ErrFewRows) {
		f.Errorf("one row of two: %v", err)
	}
	f.states(map[string]adopt.FolderState{"x": adopt.FolderMarked})
}

func purgedFolders(f *folders) {
	k := f.marked("x")
	k.Purged = 2
	f.must(f.Purged(f.ctx, k, []string{"x/1", "x/2"}))
	equal(f.world, "counted before it may lose anything", f.known("x").Purged, 0)
	f.must(f.Gone(f.ctx, k))
	f.verdict(k, 0, adopt.Orphan)
	f.must(f.Purged(f.ctx, k, []string{"x/1", "x/2"}))
	f.must(f.Purged(f.ctx, adopt.KnownFolder{Name: "x", MarkedAt: k.MarkedAt, MarkerAt: k.MarkerAt, Purged: 9}, nil))
	other := adopt.KnownFolder{Name: "x", MarkedAt: k.MarkedAt - 1, MarkerAt: k.MarkerAt, Purged: 9}
	f.must(f.Purged(f.ctx, other, []string{"x/9"}))
	f.must(f.Gone(f.ctx, other))
	equal(f.world, "counted", f.known("x").Purged, 2)
	f.must(f.Gone(f.ctx, k))
	f.states(map[string]adopt.FolderState{})
}

func pendingFolders(f *folders) {
	const retention = time.Hour
	k := f.marked("x")
	f.note(1, "seen")
	f.app.Pass(retention - time.Minute)
	equal(f.world, "due too early", must(f.Pending(f.ctx, retention))(f.world), adopt.Backlog{})
	f.marked("y")
	f.app.Pass(time.Minute)
	due := adopt.Backlog{Due: 1, Oldest: k.MarkedAt}
	equal(f.world, "due", must(f.Pending(f.ctx, retention))(f.world), due)
	f.verdict(k, 0, adopt.Orphan)
	equal(f.world, "due while it is purged", must(f.Pending(f.ctx, retention))(f.world), due)
}

// A worker that stood still does not put back what it counted before another.
func noteLate(f *folders) {
	old := f.look()
	old.Rows = 3
	f.app.Pass(time.Hour)
	f.note(7)
	f.must(f.Note(f.ctx, old, []string{"x"}))
	equal(f.world, "rows of the last run", f.look().Last, 7)
	f.states(map[string]adopt.FolderState{"x": adopt.FolderSeen})
	ahead := f.look()
	ahead.Now, ahead.Rows = ahead.Now.Add(time.Hour), 9
	f.must(f.Note(f.ctx, ahead, nil))
	f.note(5) // the clock was set back
	equal(f.world, "rows of the last run by the right clock", f.look().Last, 5)
}

func heldFromMarker(f *folders) {
	f.note(1, "x", "y", "z")
	condemned := func(want ...string) {
		f.Helper()
		got := must(f.Condemn(f.ctx, []string{"x", "y"}, 0))(f.world)
		equal(f.world, "condemned", append([]string{}, got...), append([]string{}, want...))
	}
	f.hold(adopt.HoldCollection, "")
	condemned()
	f.release(adopt.HoldCollection, "")
	f.hold(adopt.HoldObject, "x/deep/1")
	condemned("y")
	f.states(map[string]adopt.FolderState{"x": adopt.FolderSeen, "y": adopt.FolderMarking, "z": adopt.FolderSeen})
	equal(f.world, "holds of a look", len(f.look().Holds), 1)
	f.release(adopt.HoldObject, "x/deep/1")
	condemned("x", "y")
}

func heldFromPurge(f *folders) {
	k := f.marked("x")
	for _, h := range []adopt.Hold{
		{Scope: adopt.HoldCollection}, {Scope: adopt.HoldObject, Key: "x/1"}, {Scope: adopt.HoldPrefix, Key: "x/a"}, {Scope: adopt.HoldPrefix, Key: "x"},
	} {
		f.hold(h.Scope, h.Key)
		f.verdict(k, 0, adopt.OnHold)
		f.states(map[string]adopt.FolderState{"x": adopt.FolderMarked})
		f.release(h.Scope, h.Key)
	}
	f.hold(adopt.HoldObject, "x")
	f.hold(adopt.HoldObject, "xy/1")
	f.hold(adopt.HoldPrefix, "xy")
	f.verdict(k, 0, adopt.Orphan)
	f.hold(adopt.HoldObject, "x/1")
	f.verdict(k, 0, adopt.OnHold)
}

func heldPurging(f *folders) {
	k := f.marked("x")
	equal(f.world, "under way of what is marked", f.hold(adopt.HoldCollection, ""), adopt.UnderWay{})
	f.release(adopt.HoldCollection, "")
	f.verdict(k, 0, adopt.Orphan)
	now := f.look().Now
	under := f.hold(adopt.HoldPrefix, "x/")
	if left := under.Until.Sub(now); under.Folders != 1 || left < grace.Landed()-time.Minute || left > grace.Landed()+time.Minute {
		f.Errorf("under way are %+v, until %v from now", under, left)
	}
	equal(f.world, "under way of another", f.hold(adopt.HoldPrefix, "xy/"), adopt.UnderWay{})
	f.app.Pass(grace.Landed() + time.Minute)
	equal(f.world, "under way at last", f.hold(adopt.HoldObject, "x/1"), adopt.UnderWay{})
}
