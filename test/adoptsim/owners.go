package adoptsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
	"github.com/lethe-storage/lethe/blob"
)

// ownedSite is an application each of whose rows owns objects, or folders: one to three. Names
// and keys are those below the prefix, but in the database.
type ownedSite struct {
	*world
	templates []adopt.Template
	folders   bool
	takes     bool // rows have no columns for a claim
	objects   *pile
	rows      map[string]ownedRow // as the application's transactions left them
	must      map[string]bool     // objects that have to be there
	dead      map[string]bool     // objects that a row has owned since they were put last
	discarded map[string]lethe.Time
}

type ownedRow struct {
	name string
	end  lethe.Time
}

const ownedPrefix = "up/"

// Rows and names are few, so that they meet.
const (
	ownedRows  = 4
	ownedNames = 3
)

func newOwnedSite(w *world) *ownedSite {
	pick := w.pick
	w.grace = adopt.Grace{
		Watchdog: pick(20*time.Minute, adopt.DefaultGrace.Watchdog), Unreferenced: pick(0, time.Minute, adopt.DefaultGrace.Unreferenced),
		LongestWrite: pick(30*time.Second, 2*time.Minute, adopt.DefaultGrace.LongestWrite), Late: pick(3*time.Minute, adopt.DefaultGrace.Late),
	}
	w.kind = kind{faults: 5 + w.rng.Uint64N(60)}
	switch w.cfg.Seed % 6 {
	case 1: // a folder of which an object stays whose delete was refused
		w.kind = kind{faults: 5, focus: focus{steps: " unlink ", faults: []Fault{partial}, rate: 400}}
	case 3:
		w.kind = kind{faults: 5, focus: focus{steps: " unlink ", faults: []Fault{late}, rate: 400, latest: true}}
	}
	s := &ownedSite{
		world: w, folders: w.rng.IntN(2) == 0, takes: w.rng.IntN(2) == 0, objects: newPile(w, &clock{w: w}),
		rows: map[string]ownedRow{}, must: map[string]bool{}, dead: map[string]bool{}, discarded: map[string]lethe.Time{},
	}
	texts := []string{"{name}", "{name}.small", "rows/{key}"}
	if s.folders {
		texts = []string{"large/{name}/", "small/{name}/", "rows/{key}/"}
	}
	var whole []string
	for _, text := range texts[:1+w.rng.IntN(len(texts))] {
		t, err := adopt.ParseTemplate(text)
		w.fail(err)
		s.templates, whole = append(s.templates, t), append(whole, ownedPrefix+text)
	}
	w.db = memadopt.New(memadopt.Options{Clock: w, Grace: w.grace, Owns: whole, Prefix: ownedPrefix})
	w.oracle = newOracle(w)
	w.keeper = newKeeper(w, w.db, w, func() bool { return s.going() != "" }, s.chosen)
	for range 2 + w.rng.IntN(2) {
		w.enter("worker", func(a *actor) { work(a, s.routines()) })
	}
	for range 2 + w.rng.IntN(2) {
		w.enter("app", s.serve)
	}
	for range 2 {
		w.enter("racer", s.race)
	}
	if w.cfg.Seed%3 == 0 {
		w.enter("holder", w.keeper.keep)
	}
	return s
}

// routines are those of a worker that has just started.
func (s *ownedSite) routines() []routine {
	w := s.world
	t := tables{w, w.db}
	store := ownedStore{s.objects, s}
	clean := &adopt.Clean{
		Collection: "files", Contents: t, Bucket: adopt.Within{Prefix: ownedPrefix, Store: store}, Grace: w.grace, Batch: batch, Boot: w,
		Events: &adopt.Events{
			Broken:  func(_ string, keys []string) { w.fail(fmt.Errorf("%v were named past the guard", keys)) },
			Outside: func(_ string, keys []string) { w.fail(fmt.Errorf("%v are told to lie outside", keys)) },
		},
	}
	if s.folders {
		clean.Bucket = adopt.Emptier{Prefix: ownedPrefix, Store: store, Page: 2}
	}
	if s.takes {
		return []routine{&adopt.Take{Collection: "files", Records: t, Holds: t, Grace: w.grace, Batch: batch}, clean, clean}
	}
	return []routine{
		&adopt.Expire{Collection: "files", Records: t, Holds: t, Grace: w.grace, Batch: batch}, clean, clean,
		&adopt.Watchdog{Collection: "files", Records: t, Grace: w.grace, Batch: batch},
	}
}

// owns returns what a row of a key and a name owns: keys of objects, or folders.
func (s *ownedSite) owns(key, name string) (out []string) {
	for _, t := range s.templates {
		value := name
		if t.Columns()[0] == "key" {
			value = key
		}
		out = append(out, t.Fill([]string{value}))
	}
	return out
}

// covers reports whether an object is what one of the keys says, or lies below it.
func covers(owned []string, object string) bool {
	return slices.ContainsFunc(owned, func(k string) bool {
		return k == object || strings.HasSuffix(k, "/") && strings.HasPrefix(object, k)
	})
}

// owner returns a row that owns an object, empty if none does.
func (s *ownedSite) owner(object string) string {
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		if covers(s.owns(key, s.rows[key].name), object) {
			return key
		}
	}
	return ""
}

// ownedStore is the bucket as workers see it.
type ownedStore struct {
	*pile
	s *ownedSite
}

func (b ownedStore) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	return bucket{b.w, b.w.grace.Late / 3, func([]string) func([]string) { return b.s.loses }}.Delete(ctx, keys)
}
