package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Marker is the name of the object that marks a folder for deletion.
const Marker = "TO_DELETE"

// markerText explains the marker to its readers.
const markerText = "No row in the database names this folder. It is removed when this object is older\n" +
	"than the retention. Whoever removes this object before cancels that.\n"

// clockProbe is an object whose time reads the backend's clock. No folder has
// this name.
const clockProbe = probeFolder + "clock"

const probeFolder = ".lethe/"

// FolderStore stores folders; a blob.Store is one. Keys exclude the prefix of
// the collection.
type FolderStore interface {
	Deleter
	Stater
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error
}

// Verdict is the state in the database of a folder before its objects are
// deleted.
type Verdict int

// Verdicts.
const (
	Orphan  Verdict = iota + 1 // recorded as marked, and without a row
	HasRow                     // a row names it again
	Changed                    // not recorded as the caller knows it
	OnHold                     // a hold covers something in it
)

// FolderMarks are the recorded folders of one collection. Each method is one
// transaction.
type FolderMarks interface {
	// Look reads the rows and the record, and changes nothing.
	Look(ctx context.Context) (FolderView, error)
	// Note records how many rows a look found, unless a later look was
	// recorded, and folders without a row.
	Note(ctx context.Context, v FolderView, names []string) error
	// Condemn changes seen folders to ones whose marker is being put, and
	// returns which. It skips those that a row names again or a hold keeps. It
	// fails with ErrFewRows unless at least floor rows are live.
	Condemn(ctx context.Context, names []string, floor int64) ([]string, error)
	// Marked records markers.
	Marked(ctx context.Context, folders []KnownFolder) error
	// Forget deletes the record of a folder, if it is as the caller knows it:
	// its state, and both times of its marker.
	Forget(ctx context.Context, f KnownFolder) error
}

// FolderPurges are the marked folders of one collection. Each method is one transaction.
type FolderPurges interface {
	// Proceed changes a marked folder to one whose objects are deleted, unless
	// a row names it or a hold keeps it. It fails with ErrFewRows unless at
	// least floor rows are live.
	Proceed(ctx context.Context, f KnownFolder, floor int64) (Verdict, error)
	// Purged records deleted keys of a folder that is recorded as the caller
	// knows it.
	Purged(ctx context.Context, f KnownFolder, keys []string) error
	// Gone deletes the record of a deleted folder, if it is as the caller knows
	// it.
	Gone(ctx context.Context, f KnownFolder) error
	// Pending counts the marked folders whose retention is over by the database's clock.
	Pending(ctx context.Context, retention time.Duration) (Backlog, error)
}

// FolderRows are the rows that name folders, and the record of folders without
// one.
type FolderRows interface {
	FolderMarks
	FolderPurges
}

// Folders deletes folders that no row names: seen twice, marked, and purged
// when the marker, by the backend's clock, and its record, by the database's,
// are older than the retention. At most one instance runs it at a time.
type Folders struct {
	Collection string
	Prefix     string // of the whole keys
	Rules      FolderRules
	Rows       FolderRows
	Store      FolderStore
	// Only, if set, limits which folders may be marked or purged.
	Only   map[string]bool
	Page   int         // objects per listing and delete request (default 1000)
	Boot   lethe.Clock // never jumps, and counts while the machine sleeps
	Events *Events
}

// Name returns the routine's name in runs and metrics.
func (f *Folders) Name() string { return "folders " + f.Collection }

// Plan counts what may be purged. It reads only the database; Report reads the
// bucket.
func (f *Folders) Plan(ctx context.Context) (Backlog, error) {
	return f.Rows.Pending(ctx, f.Rules.Retention)
}

// Report returns what a run would do now, and changes nothing. It computes ages
// by the database's clock: reading the backend's needs a write.
func (f *Folders) Report(ctx context.Context) (FolderPlan, error) {
	now := func(v FolderView) (lethe.Time, error) { return v.Now, nil }
	plan, _, err := f.plan(ctx, now)
	return plan, err
}

// Sample looks up the folders of up to limit rows, and returns how many exist.
func (f *Folders) Sample(ctx context.Context, limit int) (found, sampled int, err error) {
	v, err := f.Rows.Look(ctx)
	if err != nil {
		return 0, 0, err
	}
	if _, err := f.Rules.floor(v); err != nil {
		return 0, 0, err
	}
	for name := range v.Live {
		if sampled == limit {
			break
		}
		sampled++
		err := f.Store.List(ctx, name+"/", "", func(blob.Info) error { return errPage })
		switch {
		case errors.Is(err, errPage):
			found++
		case err != nil:
			return 0, 0, err
		}
	}
	return found, sampled, nil
}

// Withdraw removes every marker, and the records of their folders.
func (f *Folders) Withdraw(ctx context.Context) error {
	v, err := f.Rows.Look(ctx)
	if err != nil {
		return err
	}
	p := &folderPass{Folders: f}
	for _, k := range v.Known {
		s := Step{Folder: Folder{Name: k.Name}, Known: k, Unmark: k.State > FolderSeen}
		if err := p.cancel(ctx, s, func(string, int64) {}); err != nil {
			return err
		}
	}
	return nil
}

// plan lists the folders, and then reads the rows: a folder whose row was
// committed before the listing is not taken for one without. It returns the
// number of live rows.
func (f *Folders) plan(ctx context.Context, clock func(FolderView) (lethe.Time, error)) (p FolderPlan, v FolderView, err error) {
	// Checked first, since an error here saves a listing.
	if v, err = f.Rows.Look(ctx); err != nil {
		return p, v, err
	}
	if _, err := f.Rules.floor(v); err != nil {
		return p, v, err
	}
	now, err := clock(v)
	if err != nil {
		return p, v, err
	}
	listed, err := f.list(ctx)
	if err != nil {
		return p, v, fmt.Errorf("list %s: %w", f.Prefix, err)
	}
	if v, err = f.Rows.Look(ctx); err != nil {
		return p, v, err
	}
	if _, err := f.Rules.floor(v); err != nil {
		return p, v, err
	}
	if p, err = f.Rules.planFolders(listed, v, now); f.Only != nil {
		other := func(s Step) bool { return !f.Only[s.Folder.Name] }
		p.Notice, p.Mark, p.Purge = nil, slices.DeleteFunc(p.Mark, other), slices.DeleteFunc(p.Purge, other)
	}
	return p, v, err
}

// list returns all folders. Keys outside of folders are ignored.
func (f *Folders) list(ctx context.Context) (out []Folder, err error) {
	err = f.Store.List(ctx, "", "", func(i blob.Info) error {
		name, rest, ok := folderOf(i.Key, f.Rules.Depth)
		if !ok || strings.HasPrefix(i.Key, probeFolder) || f.Rules.shape != nil && !f.Rules.shape.MatchString(name) {
			return nil
		}
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, Folder{Name: strings.Clone(name)})
		}
		out[len(out)-1].add(i, rest)
		return nil
	})
	return out, err
}

// add counts an object in the folder.
func (f *Folder) add(i blob.Info, rest string) {
	if rest == Marker {
		f.Marker = second(i.ModTime)
		return
	}
	f.Objects++
	f.Bytes += i.Size
	f.Newest = max(f.Newest, second(i.ModTime))
	if f.Odd == "" && (blob.CheckForeign(i.Key) != nil || strings.HasPrefix(rest, Marker+"/")) {
		f.Odd = i.Key
	}
}

// BackendNow reads a backend's clock, to the second, by the time of an object that
// it puts and removes. Two calls at once may disturb each other.
func BackendNow(ctx context.Context, store FolderStore) (lethe.Time, error) {
	if _, err := store.Delete(ctx, []string{clockProbe}); err != nil {
		return 0, err
	}
	if err := store.Put(ctx, clockProbe, strings.NewReader(""), 0); err != nil && !errors.Is(err, blob.ErrExist) {
		return 0, fmt.Errorf("put an object to read the backend's clock: %w", err)
	}
	info, err := store.Stat(ctx, clockProbe)
	if err != nil {
		return 0, err
	}
	if info.ModTime == 0 {
		return 0, errors.New("the backend does not report the times of objects, so the age of a marker is unknown")
	}
	_, err = store.Delete(ctx, []string{clockProbe})
	return second(info.ModTime), err
}

// Pass executes the plan made at its beginning, in steps.
func (f *Folders) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	p := &folderPass{Folders: f}
	return p.step
}

// folderPass is a pass in progress.
type folderPass struct {
	*Folders
	planned bool
	plan    FolderPlan
	view    FolderView // by which it was planned
	floor   int64
	broken  bool // objects of the first folder to purge that could not be deleted
	after   string
}

// Folders per step that are recorded, and marked.
const (
	notesAtOnce = 1000
	marksAtOnce = 100
	// marksInFlight is the number of concurrent puts of markers.
	marksInFlight = 8
)

func (p *folderPass) step(ctx context.Context, add func(string, int64)) (more bool, err error) {
	switch {
	case !p.planned:
		return true, p.begin(ctx, add)
	case len(p.plan.Notice) > 0:
		n := min(notesAtOnce, len(p.plan.Notice))
		err := p.Rows.Note(ctx, p.view, names(p.plan.Notice[:n]))
		p.plan.Notice = p.plan.Notice[n:]
		return true, err
	case len(p.plan.Cancel) > 0:
		s := p.plan.Cancel[0]
		p.plan.Cancel = p.plan.Cancel[1:]
		return true, p.stays(ctx, p.cancel(ctx, s, add), add)
	case len(p.plan.Mark) > 0:
		n := min(marksAtOnce, len(p.plan.Mark))
		steps := p.plan.Mark[:n]
		p.plan.Mark = p.plan.Mark[n:]
		return true, p.mark(ctx, steps, add)
	case len(p.plan.Purge) > 0:
		return true, p.purge(ctx, add)
	}
	return false, nil
}

func (p *folderPass) begin(ctx context.Context, add func(string, int64)) error {
	plan, view, err := p.Folders.plan(ctx, func(FolderView) (lethe.Time, error) { return BackendNow(ctx, p.Store) })
	if err != nil {
		return err
	}
	if p.floor, err = p.Rules.floor(view); err != nil {
		return err
	}
	p.planned, p.plan, p.view = true, plan, FolderView{Now: view.Now, Rows: view.Rows}
	for _, c := range []struct {
		name string
		n    int64
	}{{"live", plan.Live}, {"young", plan.Young}, {"waiting", plan.Waiting}, {"noticed", int64(len(plan.Notice))}, {"kept", int64(len(plan.Kept))}} {
		if c.n > 0 {
			add(c.name, c.n)
		}
	}
	if plan.Limited {
		add("limited", 1)
	}
	for _, s := range plan.Kept {
		p.Events.folderKept(p.Collection, s.Folder.Name, s.Why)
	}
	return p.Rows.Note(ctx, p.view, nil)
}

func names(steps []Step) []string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.Folder.Name
	}
	return out
}

func markerOf(folder string) string { return folder + "/" + Marker }

// cancel deletes a folder's record, its marker first: a marker without a record
// would not be found again.
func (p *folderPass) cancel(ctx context.Context, s Step, add func(string, int64)) error {
	if s.Unmark {
		if err := p.unmark(ctx, s.Folder.Name); err != nil {
			return err
		}
	}
	if err := p.Rows.Forget(ctx, s.Known); err != nil {
		return err
	}
	if s.Why != "" {
		add("cancelled", 1)
		p.Events.folderCancelled(p.Collection, s.Folder.Name, s.Why)
	}
	return nil
}

func (p *folderPass) unmark(ctx context.Context, folder string) error {
	keys := []string{markerOf(folder)}
	results, err := p.Store.Delete(ctx, keys)
	if err = blob.Outcomes(keys, results, err)[0]; blob.Gone(err) {
		return nil
	}
	return fmt.Errorf("%w of %s%s: %w", errMarker, p.Prefix, folder, err)
}

// errMarker is of a marker that the backend does not delete.
var errMarker = errors.New("remove the marker")

// stays reports a folder whose marker could not be removed: the others do not wait for it. It
// returns other errors.
func (p *folderPass) stays(ctx context.Context, err error, add func(string, int64)) error {
	if !errors.Is(err, errMarker) {
		return err
	}
	add("failed", 1)
	return p.report(ctx, []error{err})
}

// mark puts markers into folders that still have no row.
func (p *folderPass) mark(ctx context.Context, steps []Step, add func(string, int64)) error {
	began := p.Boot.Now()
	condemned, err := p.Rows.Condemn(ctx, names(steps), p.floor)
	if err != nil {
		return err
	}
	marked, failed := p.putMarkers(inTime(ctx, p.Boot, began, lookedWithin), condemned)
	// Markers that were put are recorded, also if others failed.
	if err := p.Rows.Marked(context.WithoutCancel(ctx), marked); err != nil {
		return errors.Join(append(failed, err)...)
	}
	add("items", int64(len(marked)))
	add("marked", int64(len(marked)))
	return p.report(ctx, failed)
}

// putMarkers puts markers concurrently.
func (p *folderPass) putMarkers(ctx context.Context, folders []string) (marked []KnownFolder, failed []error) {
	var running errgroup.Group
	running.SetLimit(marksInFlight)
	times, errs := make([]lethe.Time, len(folders)), make([]error, len(folders))
	for i, name := range folders {
		running.Go(func() error {
			times[i], errs[i] = p.putMarker(ctx, name)
			return nil
		})
	}
	_ = running.Wait()
	for i, name := range folders {
		if errs[i] != nil {
			failed = append(failed, fmt.Errorf("mark %s%s: %w", p.Prefix, name, errs[i]))
		} else {
			marked = append(marked, KnownFolder{Name: name, MarkerAt: times[i]})
		}
	}
	return marked, failed
}

// putMarker puts a marker, or finds one, and returns its time.
func (p *folderPass) putMarker(ctx context.Context, folder string) (lethe.Time, error) {
	err := p.Store.Put(ctx, markerOf(folder), strings.NewReader(markerText), int64(len(markerText)))
	if err != nil && !errors.Is(err, blob.ErrExist) {
		return 0, err
	}
	info, err := p.Store.Stat(ctx, markerOf(folder))
	return second(info.ModTime), err
}

// second truncates a time of the backend: some of its responses omit the
// fraction.
func second(t lethe.Time) lethe.Time { return t - t%lethe.Time(time.Second/time.Microsecond) }

// lookedWithin bounds the time between the check that no row names a folder and
// a request for it.
const lookedWithin = 30 * time.Second

// gaveUp reports whether an error concerns the backend as a whole.
func gaveUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, blob.ErrDown)
}

// report reports folders that failed. It returns an error only if all others
// will fail, too.
func (p *folderPass) report(ctx context.Context, failed []error) error {
	if i := slices.IndexFunc(failed, func(err error) bool { return gaveUp(ctx, err) }); i >= 0 {
		return failed[i]
	}
	if len(failed) > 0 {
		p.Events.failed(p.Collection, len(failed), failed[0].Error())
	}
	return nil
}
