package adopt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
)

// Folder is a folder in a complete listing.
type Folder struct {
	Name    string // below the prefix
	Objects int64  // without its marker
	Bytes   int64
	Newest  lethe.Time // of its objects, without its marker, by the backend's clock
	Marker  lethe.Time // when its marker was put, by the same clock; 0: it has none
	// Odd is a key in it that cannot be deleted unambiguously, empty if there
	// is none.
	Odd string
}

// FolderState is the state of a folder on its way to deletion.
type FolderState int

// States of a recorded folder.
const (
	FolderSeen    FolderState = iota + 1 // a run found no row for it
	FolderMarking                        // a second run found none either; its marker is being put
	FolderMarked                         // its marker is there
	FolderPurging                        // some of its objects may be gone
)

// KnownFolder is a recorded folder.
type KnownFolder struct {
	Name     string
	State    FolderState
	MarkedAt lethe.Time // by the database's clock
	MarkerAt lethe.Time // the time of its marker, by the backend's
	Purged   int64      // deleted objects
}

// FolderView is the state of the folders of a collection in the database, at one instant.
type FolderView struct {
	Now   lethe.Time // by the database's clock
	Live  map[string]bool
	Rows  int64 // rows that name a folder
	Last  int64 // those at the last run; 0 if there was none
	Known []KnownFolder
	// Prefix precedes names in the whole keys, which Holds use.
	Prefix string
	Holds  Holds
}

// ErrBadNames reports that names of rows are not those of folders, or belong to
// none of them. It ends a run before it changes anything.
var ErrBadNames = errors.New("the names of rows are not those of folders")

// floor returns the number of rows that have to stay live. It fails if fewer
// are, or if their names do not have the form of the rules.
func (r FolderRules) floor(v FolderView) (int64, error) {
	if v.Rows == 0 {
		return 0, fmt.Errorf("%w: the query of live folders returns nothing, so all would go; nothing is touched until it returns a row", ErrFewRows)
	}
	floor, err := floorOf(v.Rows, v.Last, r.Least, "folders.least")
	if err != nil {
		return 0, err
	}
	for name := range v.Live {
		if !r.fits(name) {
			return 0, fmt.Errorf("%w: %q has not %d segments, or is no name of a folder; nothing is touched. Correct folders.live or folders.depth", ErrBadNames, name, r.Depth)
		}
	}
	return floor, nil
}

// Step is one action on a folder.
type Step struct {
	Folder Folder
	Known  KnownFolder
	// Why is the reason of a cancellation, or of leaving the folder alone;
	// empty if it needs no report.
	Why string
	// Unmark is set if the marker is ours and has to be removed.
	Unmark bool
}

// FolderPlan is what a run does and what it leaves alone.
type FolderPlan struct {
	Notice []Step // no row, for the first time
	Cancel []Step // recorded, and not to be deleted any more
	Mark   []Step
	Purge  []Step
	Kept   []Step // no row, and cannot be deleted
	// Live folders have a row, Young ones were written recently, Waiting ones
	// are marked, and within their retention or young.
	Live, Young, Waiting int64
	// Limited reports that the limit of a run left some for the next.
	Limited bool
}

// String describes the run in one line.
func (p FolderPlan) String() string {
	parts := []string{fmt.Sprintf("of the folders %d have a row, %d are young, %d are marked and wait", p.Live, p.Young, p.Waiting)}
	for _, l := range []struct {
		what  string
		steps []Step
	}{
		{"notes %d that have none", p.Notice}, {"marks %d", p.Mark}, {"purges %d", p.Purge},
		{"takes %d off the record", p.Cancel}, {"leaves %d that cannot be removed", p.Kept},
	} {
		if len(l.steps) == 0 {
			continue
		}
		var objects, bytes int64
		for _, s := range l.steps {
			objects, bytes = objects+s.Folder.Objects, bytes+s.Folder.Bytes
		}
		parts = append(parts, fmt.Sprintf(l.what+" (%s, %s), such as %s", len(l.steps), words.Plural(objects, "object", "objects"), words.Plural(bytes, "byte", "bytes"), l.steps[0].Folder.Name))
	}
	if len(parts) == 1 {
		parts = append(parts, "changes nothing")
	}
	return parts[0] + "; a run " + strings.Join(parts[1:], ", ")
}

// planFolders decides about folders that were listed before the rows were read,
// in a complete listing; now is the backend's time.
func (r FolderRules) planFolders(listed []Folder, v FolderView, now lethe.Time) (FolderPlan, error) {
	var p FolderPlan
	known := make(map[string]KnownFolder, len(v.Known))
	for _, k := range v.Known {
		known[k.Name] = k
	}
	for _, f := range listed {
		r.decide(&p, Step{Folder: f, Known: known[f.Name]}, v, now)
		delete(known, f.Name)
	}
	for _, k := range v.Known {
		if _, left := known[k.Name]; left { // nothing is stored there any more
			p.Cancel = append(p.Cancel, Step{Folder: Folder{Name: k.Name}, Known: k})
		}
	}
	if p.Live == 0 && len(listed) > 0 {
		return FolderPlan{}, fmt.Errorf("%w: of %s none has a row, and of %s none a folder; nothing is touched. A folder is %q, %s",
			ErrBadNames, words.Plural(int64(len(listed)), "folder", "folders"), words.Plural(v.Rows, "row", "rows"), listed[0].Name, example(v.Live))
	}
	if v.Last == 0 {
		without := int64(len(p.Notice)+len(p.Mark)+len(p.Purge)) + p.Waiting
		if err := firstRun(p.Live, without, r.Least, "folders", "folders.least"); err != nil {
			return FolderPlan{}, err
		}
	}
	p.Mark, p.Purge = p.limit(p.Mark, r.Most), p.limit(p.Purge, r.Most)
	return p, nil
}

func example(live map[string]bool) string {
	for name := range live {
		return fmt.Sprintf("a row names %q", name)
	}
	return "no row names any"
}

func (p *FolderPlan) limit(steps []Step, most int) []Step {
	if len(steps) <= most {
		return steps
	}
	p.Limited = true
	return steps[:most]
}

// decide adds one folder to the plan.
func (r FolderRules) decide(p *FolderPlan, s Step, v FolderView, now lethe.Time) {
	f, k := s.Folder, s.Known
	held := v.Holds.Folder(v.Prefix + f.Name + "/")
	switch {
	case v.Live[f.Name]:
		p.Live++
		if k.State != 0 {
			p.cancel(s, k.State > FolderSeen, hasRow(k))
		}
	case held != nil:
		s.Why = held.Why()
		p.Kept = append(p.Kept, s)
	case f.Odd != "":
		s.Why = fmt.Sprintf("it holds the key %q, which cannot be deleted unmistakably: remove or rename it", f.Odd)
		p.Kept = append(p.Kept, s)
	case k.State <= FolderMarking && r.young(f, now):
		p.Young++
		if k.State != 0 {
			p.cancel(s, k.State == FolderMarking, "")
		}
	case k.State == 0:
		p.Notice = append(p.Notice, s)
	case k.State <= FolderMarking:
		p.Mark = append(p.Mark, s)
	default:
		r.marked(p, s, v, now)
	}
}

// young reports whether something was written to a folder lately; now is the backend's time.
func (r FolderRules) young(f Folder, now lethe.Time) bool {
	return f.Newest != 0 && now.Sub(f.Newest) < r.MinAge
}

// marked decides about a marked folder without a row.
func (r FolderRules) marked(p *FolderPlan, s Step, v FolderView, now lethe.Time) {
	f, k := s.Folder, s.Known
	switch {
	case f.Marker == 0:
		p.cancel(s, false, "its marker was removed")
	case f.Marker != k.MarkerAt:
		p.cancel(s, false, "its marker is not the one that was put")
	case f.Newest >= f.Marker:
		p.cancel(s, true, "it was written to after it was marked")
	case now.Sub(f.Marker) < r.Retention || v.Now.Sub(k.MarkedAt) < r.Retention, r.young(f, now):
		p.Waiting++
	default:
		p.Purge = append(p.Purge, s)
	}
}

func (p *FolderPlan) cancel(s Step, unmark bool, why string) {
	s.Unmark, s.Why = unmark, why
	p.Cancel = append(p.Cancel, s)
}

// hasRow returns the reason of cancelling a folder that has a row.
func hasRow(k KnownFolder) string {
	switch {
	case k.State == FolderSeen:
		return ""
	case k.Purged > 0:
		return "it has a row again, after " + words.Plural(k.Purged, "of its objects was", "of its objects were") + " removed"
	}
	return "it has a row again"
}

// folderOf splits a key below the prefix into the name of its folder and the
// rest; ok is false for keys outside of folders.
func folderOf(key string, depth int) (name, rest string, ok bool) {
	at := 0
	for range depth {
		i := strings.IndexByte(key[at:], '/')
		if i < 0 {
			return "", "", false
		}
		at += i + 1
	}
	return key[:at-1], key[at:], true
}
