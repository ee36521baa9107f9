package adoption

import (
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// Two services may have buckets of one name: each has an epoch of its own. Of one service, the
// name alone counts, since it may be reached by several.
func TestPlacesOfBucketsOfOneName(t *testing.T) {
	site := func(endpoints ...string) *Adoption {
		d := &adopt.Description{Buckets: map[string]adopt.BucketSpec{}, Collections: map[string]adopt.Collection{}}
		for i, endpoint := range endpoints {
			name := string(rune('a' + i))
			d.Buckets[name] = adopt.BucketSpec{Endpoint: endpoint, Bucket: "app"}
			d.Collections[name] = adopt.Collection{Bucket: name, Prefix: "up/"}
		}
		return &Adoption{Description: d}
	}
	two := site("https://one.example", "https://two.example")
	if a, b := two.placeOf("a"), two.placeOf("b"); a == b {
		t.Errorf("two services: both are %s", a)
	}
	if a, b := site("https://one.example").placeOf("a"), site("https://inner.example").placeOf("a"); a != b {
		t.Errorf("two names of one service: %s, %s", a, b)
	}
}

// A bucket that is not paired any more ends Run, but not each time that what is left of a
// suspended collection finds the same.
func TestSuspendedCollectionsDoNotEndRun(t *testing.T) {
	a := &Adoption{o: Options{}.filled(), changed: make(chan struct{}, 1)}
	a.suspended.routines = map[string][]reclaim.Scheduled{"pastes": nil}
	a.refused(ledger.Run{Routine: "quarantine pastes"}, adopt.ErrUnpaired)
	if len(a.changed) > 0 {
		t.Error("a suspended collection ends it")
	}
	a.refused(ledger.Run{Routine: "clean albums"}, adopt.ErrUnpaired)
	if len(a.changed) == 0 {
		t.Error("another collection does not end it")
	}
}
