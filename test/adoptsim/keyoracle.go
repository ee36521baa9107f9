package adoptsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/memadopt"
)

// keyOracle knows what has to hold of keys.
type keyOracle struct {
	s         *keySite
	unnamed   map[string]lethe.Time // when they did so last
	seenNamed map[string]lethe.Time // when it was seen last that they do
	unseen    map[string]lethe.Time // when it was seen last that they do not
	spoilt    map[string]bool       // keys whose objects others removed, or that were used again too late
	told      map[string]bool       // keys without an object that were told
}

func newKeyOracle(s *keySite) keyOracle {
	return keyOracle{
		s: s, unnamed: map[string]lethe.Time{}, seenNamed: map[string]lethe.Time{}, unseen: map[string]lethe.Time{},
		spoilt: map[string]bool{}, told: map[string]bool{},
	}
}

// holds: what a row names is there.
func (o *keyOracle) holds(string) error {
	for key := range o.s.named {
		if !o.s.objects.has(key) && !o.spoilt[key] {
			return fmt.Errorf("a row names %s, which is gone", key)
		}
	}
	return nil
}

// inserted: who names a key that is used once, in time, finds its object.
func (o *keyOracle) inserted(key string) error {
	if o.s.objects.has(key) {
		return nil
	}
	if o.spoilt[key] = true; key[0] == 'n' {
		return fmt.Errorf("a row names %s in time, and it is gone", key)
	}
	return nil
}

// sees: orphans are old enough, and named by no row; those that go have been known for
// the retention, unchanged.
func (o *keyOracle) sees(r *run, in adopt.Seeing, out adopt.Seen) error {
	now, rules := o.s.w.now, o.s.rules
	if r.few {
		return fmt.Errorf("orphans were noted when most rows could not be seen")
	}
	for _, object := range in.Orphans {
		key := strings.TrimPrefix(object.Key, filesPrefix)
		if age := r.streamed.Sub(object.Modified); age < rules.MinAge {
			return fmt.Errorf("%s is taken for an orphan, and was put %s before", key, age)
		}
		if o.s.named[key] && o.s.hidden == 0 {
			o.seenNamed[key] = now
		} else {
			o.unseen[key] = now
		}
	}
	if in.Look {
		r.did["orphans"] += int64(out.Orphans)
	} else {
		r.taken += len(out.Condemned)
	}
	if r.taken > rules.Most {
		return fmt.Errorf("%s deletes %d objects, of %d at most", r.ID, r.taken, rules.Most)
	}
	for _, whole := range out.Condemned {
		key := strings.TrimPrefix(whole, filesPrefix)
		v, there := o.s.objects.objects[key]
		switch {
		case o.s.named[key] && o.s.hidden == 0:
			return fmt.Errorf("%s is condemned, and a row names it", key)
		case o.s.keeper.holds().Object(whole) != nil:
			return fmt.Errorf("%s is condemned, and %s", key, o.s.keeper.holds().Object(whole).Why())
		case there && v.at < r.streamed && now.Sub(v.at) < rules.Retention:
			return fmt.Errorf("%s is condemned %s after it was put", key, now.Sub(v.at))
		case now.Sub(o.seenNamed[key]) < rules.Retention:
			return fmt.Errorf("%s is condemned %s after it was seen that a row names it", key, now.Sub(o.seenNamed[key]))
		}
	}
	return nil
}

// loses: a key that is used once is never lost; one that is used again, in the minute
// after it was looked, may be.
func (o *keyOracle) loses(key string, listed lethe.Time) error {
	v, there := o.s.objects.objects[key]
	if !there {
		return nil
	}
	if o.s.named[key] && key[0] != 'k' {
		return fmt.Errorf("%s went, and a row names it", key)
	}
	if v.at >= listed {
		o.s.w.counts["used again, and lost"]++
	}
	if o.s.named[key] {
		o.s.w.counts["came back too late"]++
	}
	o.spoilt[key] = true
	known := func(orphan memadopt.Orphan) bool { return orphan.Key == filesPrefix+key && orphan.Allowed != 0 }
	if !slices.ContainsFunc(o.s.record.Orphans(), known) {
		return nil // no record tells any more that its delete was allowed
	}
	return o.s.keeper.lost(filesPrefix + key)
}

// stands: the count on record is that of the latest rows that were read.
func (o *keyOracle) stands(last int64) error {
	if last != o.s.last {
		return fmt.Errorf("%d rows are on record, and the latest run has read %d", last, o.s.last)
	}
	return nil
}

// gone: only what is gone is told to be.
func (o *keyOracle) gone(r *run, keys []string) error {
	r.did["objects"] += int64(len(keys))
	for _, whole := range keys {
		key := strings.TrimPrefix(whole, filesPrefix)
		if v, there := o.s.objects.objects[key]; there && v.at < r.step {
			return fmt.Errorf("%s is on record as gone, and is there", key)
		}
	}
	return nil
}

// ends: what was not listed is not forgotten.
func (o *keyOracle) ends(r *run, rows int64) error {
	o.s.counted(rows, r.streamed)
	for key := range r.named {
		if o.unseen[key] < r.streamed { // else another run, which this one did not wait for, knows better
			o.seenNamed[key] = max(o.seenNamed[key], r.streamed)
		}
	}
	return r.whole("a comparison ended")
}

// missing: what is told to be missing is.
func (o *keyOracle) missing(r *run, keys []string) error {
	r.did["missing"] += int64(len(keys))
	for _, whole := range keys {
		key, inside := strings.CutPrefix(whole, filesPrefix)
		if !inside {
			continue
		}
		o.told[key] = true
		if v, there := o.s.objects.objects[key]; there && v.at < r.stated[key] {
			return fmt.Errorf("%s is told to be missing, and is there", key)
		}
		if !o.s.named[key] && o.unnamed[key] < r.again {
			return fmt.Errorf("%s is told to be missing, and no row names it", key)
		}
	}
	return nil
}

// ended: what a run that succeeded counted is what it did.
func (s *keySite) ended(r *run) error {
	for _, what := range []string{"orphans", "objects", "missing"} {
		if r.counts[what] != r.did[what] {
			return fmt.Errorf("%s counted %d %s, and it were %d", r.ID, r.counts[what], what, r.did[what])
		}
	}
	return nil
}

// left: no orphan is kept, and what is missing was told.
func (s *keySite) left() error {
	for _, o := range s.record.Orphans() {
		return fmt.Errorf("%s is still on record", o.Key)
	}
	for _, key := range s.objects.below("") {
		if !s.named[key] {
			return fmt.Errorf("%s is still there, and no row names it", key)
		}
	}
	for _, key := range s.live() {
		if there := s.objects.has(key); there == s.told[key] {
			return fmt.Errorf("%s is there: %v; told to be missing: %v", key, there, s.told[key])
		}
	}
	return nil
}
