package sqladopt_test

import (
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
)

func (s *shelf) hold(scope adopt.HoldScope, key string) adopt.UnderWay {
	s.t.Helper()
	_, under, err := s.Rows.(*sqladopt.Folders).AddHold(s.t.Context(), adopt.Hold{Scope: scope, Key: key})
	if err != nil {
		s.t.Fatal(err)
	}
	return under
}

func (s *shelf) release(scope adopt.HoldScope, key string) {
	s.t.Helper()
	if err := s.Rows.(*sqladopt.Folders).ReleaseHold(s.t.Context(), adopt.Hold{Scope: scope, Key: key}); err != nil {
		s.t.Fatal(err)
	}
}

// A folder is neither marked nor purged while anything in it is held;
// afterwards it is.
func TestHeldFolderStays(t *testing.T) {
	s := newShelf(t)
	s.put("gone/topics/t/data", 0)
	s.waitBackend(2 * minAge)
	s.ran(map[string]int64{"noticed": 1})
	s.hold(adopt.HoldObject, "sequences/gone/topics/t/data")
	s.ran(map[string]int64{"kept": 1})
	s.said("gone/topics/t stays: a hold keeps the object")
	s.release(adopt.HoldObject, "sequences/gone/topics/t/data")
	s.ran(map[string]int64{"marked": 1})
	s.wait(retention)
	s.hold(adopt.HoldPrefix, "sequences/gone/")
	s.hold(adopt.HoldPrefix, "sequences/gone/topics/t/d")
	s.ran(map[string]int64{"kept": 1})
	s.release(adopt.HoldPrefix, "sequences/gone/")
	s.ran(map[string]int64{"kept": 1})
	s.release(adopt.HoldPrefix, "sequences/gone/topics/t/d")
	s.hold(adopt.HoldPrefix, "sequences/gone/topics/t2")
	s.ran(map[string]int64{"folders": 1, "objects": 1})
}

// A hold that is set during a run takes effect from then on: for markers, and
// from page to page.
func TestFolderHeldMeanwhile(t *testing.T) {
	s := newShelf(t)
	s.put("gone/topics/t/data", 0)
	s.waitBackend(2 * minAge)
	s.ran(map[string]int64{"noticed": 1})
	pass := s.Pass("w")
	if _, err := s.steps(pass, 1); err != nil {
		t.Fatal(err)
	}
	s.hold(adopt.HoldCollection, "")
	if counts, err := s.steps(pass, -1); err != nil || counts["marked"] != 0 {
		t.Errorf("the rest of the run counted %v, %v", counts, err)
	}
	s.release(adopt.HoldCollection, "")
	s.ran(map[string]int64{"marked": 1})
	for _, key := range many(1500) {
		s.lay("sequences/gone/topics/t/"+key, 2*minAge)
	}
	s.wait(retention)
	pass = s.Pass("w")
	if counts, err := s.steps(pass, 2); err != nil || counts["objects"] == 0 {
		t.Fatalf("a page counted %v, %v", counts, err)
	}
	if under := s.hold(adopt.HoldPrefix, "sequences/gone/"); under.Folders != 1 || under.Until == 0 {
		t.Errorf("under way are %+v", under)
	}
	if counts, err := s.steps(pass, -1); err != nil || counts["objects"] != 0 || counts["folders"] != 0 {
		t.Errorf("the rest of the run counted %v, %v", counts, err)
	}
	s.is("gone/topics/t 4")
	s.release(adopt.HoldPrefix, "sequences/gone/")
	if counts, err := s.run(); err != nil || counts["folders"] != 1 {
		t.Errorf("the next run counted %v, %v", counts, err)
	}
}
