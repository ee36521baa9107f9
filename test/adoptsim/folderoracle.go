package adoptsim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// pageLook is what allows a page of a folder to go.
type pageLook struct {
	folder string
	began  lethe.Time // the step, with its listing
	marker object
}

// sending is a delete under way.
type sending struct {
	keys []string
	look *pageLook // nil: of a marker
}

// folderOracle knows what has to hold of folders. Of what it allows to be lost more
// than docs/adopting-folders.md says is not in it.
type folderOracle struct {
	s *folderSite
	// unmarked is when the application removed a marker, or put another one.
	unmarked map[string]lethe.Time
	foreign  map[string]bool // markers that are the application's
	strays   map[string]bool // markers that landed late, or whose record is lost
	seen     map[string]*run // which run noted a folder
	listing  string          // the folder of which a page was listed last
	listedAt lethe.Time
}

func newFolderOracle(s *folderSite) folderOracle {
	return folderOracle{
		s: s, unmarked: map[string]lethe.Time{}, foreign: map[string]bool{}, strays: map[string]bool{},
		seen: map[string]*run{},
	}
}

func (o *folderOracle) holds(string) error { return nil }

// enough: nothing is done when fewer rows can be seen than half of those that the run
// has seen, or the last one before it.
func (o *folderOracle) enough(r *run, what string) error {
	if v := o.s.rowsSeen(); 2*v < r.rows {
		return fmt.Errorf("%s while only %d rows can be seen, and it were %d", what, v, r.rows)
	}
	return nil
}

// whole: what a listing left out that broke off is believed by nobody.
func (r *run) whole(what string) error {
	if r.broke {
		return fmt.Errorf("%s in a run whose listing broke off", what)
	}
	return nil
}

// stands: the count on record is that of the latest look that was noted.
func (o *folderOracle) stands(last int64) error {
	if last != o.s.last && !o.s.jumps {
		return fmt.Errorf("%d rows are on record, and the latest look has found %d", last, o.s.last)
	}
	return nil
}

func (o *folderOracle) noted(r *run, rows int64, names []string) error {
	if 2*rows < o.s.last && r.looked >= o.s.countedAt {
		return fmt.Errorf("folders were noted by %d rows, and there were %d", rows, o.s.last)
	}
	o.s.counted(rows, r.looked)
	for _, name := range names {
		if o.s.known(name).State == 0 {
			o.seen[name] = r
		}
		if f := o.newest(name, r.began); f != 0 && o.s.backend.Now().Sub(second(f)) < o.s.rules.MinAge {
			return fmt.Errorf("%s was noted %s after it was written to", name, o.s.backend.Now().Sub(f))
		}
	}
	return r.whole("folders were noted")
}

// newest is the time of the newest object of a folder, without its marker, of those
// that were there.
func (o *folderOracle) newest(name string, by lethe.Time) (at lethe.Time) {
	for _, key := range o.s.objects.below(name + "/") {
		if v := o.s.objects.objects[key]; key != markerOf(name) && v.at < by {
			at = max(at, v.mod)
		}
	}
	return at
}

// condemned: markers are put where no row is, in folders that a run before has seen.
func (o *folderOracle) condemned(r *run, names []string, before []adopt.KnownFolder) error {
	r.condemned = names
	if len(names) == 0 {
		return nil
	}
	for _, k := range before {
		if k.State > adopt.FolderMarking && slices.Contains(names, k.Name) {
			return fmt.Errorf("%s was condemned, and another worker has marked it", k.Name)
		}
	}
	for _, name := range names {
		r.marked[name] = true
		switch {
		case o.s.named[name]:
			return fmt.Errorf("%s was condemned, and a row names it", name)
		case o.s.keeper.holds().Folder(name+"/") != nil:
			return fmt.Errorf("%s was condemned, and %s", name, o.s.keeper.holds().Folder(name+"/").Why())
		case o.seen[name] == nil || o.seen[name] == r:
			return fmt.Errorf("%s was condemned by the run that saw it first", name)
		}
	}
	if len(r.marked) > o.s.rules.Most {
		return fmt.Errorf("%s marks %d folders, of %d at most", r.ID, len(r.marked), o.s.rules.Most)
	}
	if err := r.whole("folders were condemned"); err != nil {
		return err
	}
	return o.enough(r, "folders were condemned")
}

// marks: a marker is put soon after it was looked.
func (o *folderOracle) marks(r *run, key string) {
	if age := o.s.w.now.Sub(r.step); age >= sendsWithin {
		o.s.w.fail(fmt.Errorf("%s was put %s after it was looked", key, age))
	}
}

// forgets: a worker forgets only the marker that it has seen.
func (o *folderOracle) forgets(r *run, k, before adopt.KnownFolder) error {
	if before.MarkedAt != k.MarkedAt && o.s.known(k.Name) != before {
		return fmt.Errorf("the record of %s, marked at %s, was forgotten by %s, which has seen that of %s", k.Name, before.MarkedAt, r.ID, k.MarkedAt)
	}
	return r.whole("a folder was forgotten")
}

// proceeds: objects of a folder may go that has no row, whose marker and whose record are
// older than the retention, the one by the bucket's clock, the other by the database's.
func (o *folderOracle) proceeds(r *run, k adopt.KnownFolder, at *pageLook) error {
	name, retention := at.folder, o.s.rules.Retention
	if o.s.named[name] {
		return fmt.Errorf("%s is being purged, and a row names it", name)
	}
	if h := o.s.keeper.holds().Folder(name + "/"); h != nil {
		return fmt.Errorf("%s is being purged, and %s", name, h.Why())
	}
	if r.purged[name] = true; len(r.purged) > o.s.rules.Most {
		return fmt.Errorf("%s purges %d folders, of %d at most", r.ID, len(r.purged), o.s.rules.Most)
	}
	if at.marker = o.s.objects.objects[markerOf(name)]; at.marker == (object{}) {
		if o.unmarked[name] < at.began {
			return fmt.Errorf("%s is being purged without a marker", name)
		}
		at.marker = object{k.MarkerAt, k.MarkerAt}
	}
	if since := o.s.db.Now().Sub(k.MarkedAt); since < retention {
		return fmt.Errorf("%s is being purged %s after its marker was recorded", name, since)
	}
	if since := o.s.backend.Now().Sub(second(at.marker.mod)); since < retention && o.unmarked[name] < at.began {
		return fmt.Errorf("%s is being purged %s after its marker was put", name, since)
	}
	if second(at.marker.mod) != k.MarkerAt && o.unmarked[name] < at.began {
		return fmt.Errorf("%s is being purged, and its marker is not the one that was put", name)
	}
	if err := r.whole("a folder was purged"); err != nil {
		return err
	}
	return o.enough(r, "a folder was purged")
}

// sends notes that a delete is sent.
func (o *folderOracle) sends(r *run, keys []string) *sending {
	if len(keys) == 1 && strings.HasSuffix(keys[0], "/"+adopt.Marker) {
		return &sending{keys: keys}
	}
	if r.look == nil {
		o.s.w.fail(fmt.Errorf("%v are deleted without a look", keys))
		return &sending{keys: keys}
	}
	if late := o.s.w.now.Sub(r.look.began); late > sendsWithin {
		o.s.w.fail(fmt.Errorf("%v are deleted %s after it was looked", keys, late))
	}
	return &sending{keys, r.look}
}

// loses: what goes was written before the marker, or since it was looked: whoever uses
// a name again in these seconds may lose it, and nobody else does.
func (o *folderOracle) loses(d *sending, key string) error {
	v, there := o.s.objects.objects[key]
	folder, _, _ := strings.Cut(key, "/")
	if d.look == nil {
		o.unmarked[folder] = o.s.w.now
	}
	if d.look == nil || !there {
		return nil
	}
	if folder != d.look.folder {
		return fmt.Errorf("%s went with the folder %s", key, d.look.folder)
	}
	if v.at >= d.look.began {
		o.s.w.counts["used again, and lost"]++
		return nil
	}
	if second(v.mod) >= second(d.look.marker.mod) {
		return fmt.Errorf("%s went, which was written %s after the marker of %s", key, v.mod.Sub(d.look.marker.mod), folder)
	}
	if o.s.named[folder] {
		o.s.w.counts["came back too late"]++
	}
	if o.s.jumps || o.s.known(folder).State != adopt.FolderPurging {
		return nil // no record tells any more that it was allowed, or the clock does not
	}
	return o.s.keeper.lost(key)
}

// purged: only what is gone is told to be.
func (o *folderOracle) purged(r *run, keys []string) error {
	r.did["objects"] += int64(len(keys))
	for _, key := range keys {
		if v, there := o.s.objects.objects[key]; there && v.at < r.step {
			return fmt.Errorf("%s is on record as gone, and is there", key)
		}
	}
	return nil
}

// gone: a folder ends with its last object.
func (o *folderOracle) gone(r *run, name string) error {
	r.did["folders"]++
	for _, key := range o.s.objects.below(name + "/") {
		if v := o.s.objects.objects[key]; v.at < r.step {
			return fmt.Errorf("%s ended, and %s is there", name, key)
		}
	}
	return nil
}

// ended: what a run that succeeded counted is what it did.
func (s *folderSite) ended(r *run) error {
	for _, what := range []string{"marked", "objects", "folders"} {
		if r.counts[what] != r.did[what] {
			return fmt.Errorf("%s counted %d %s, and it were %d", r.ID, r.counts[what], what, r.did[what])
		}
	}
	return nil
}

// left: nothing dead is kept, and nothing that lives is marked.
func (s *folderSite) left() error {
	v, _ := s.record.Look(context.Background())
	for _, k := range v.Known {
		return fmt.Errorf("%s is still on record, in state %d", k.Name, k.State)
	}
	for _, key := range s.objects.below("") {
		folder, rest, _ := strings.Cut(key, "/")
		switch {
		case folder == ".lethe":
			return fmt.Errorf("%s was left", key)
		case !s.named[folder]:
			return fmt.Errorf("%s is still there, and no row names its folder", key)
		case rest == adopt.Marker && !s.foreign[folder] && !s.strays[folder]:
			return fmt.Errorf("the marker of %s is still there, and a row names it", folder)
		}
	}
	return nil
}
