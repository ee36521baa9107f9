package service

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// lateLetter returns a service with a dead letter whose upload may take effect
// for one more hour.
func lateLetter(t *testing.T) (*Service, *clocktest.Clock, lethe.ID) {
	t.Helper()
	clock := clocktest.New()
	db, err := sqlledger.Open(t.Context(), sqlledger.Memory, ledger.Options{Clock: clock, LateWindow: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	id := lethe.RandomID(clock.Now())
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = db.AddBackend(t.Context(), ledger.Backend{ID: "main"})
	do(err)
	_, err = db.Begin(t.Context(), ledger.Intent{ID: id, Backend: "main", Size: 4})
	do(err)
	do(db.Abandon(t.Context(), id, true))
	c, err := db.ClaimCondemned(t.Context(), ledger.ClaimRequest{Worker: "w", Backend: "main", Limit: 1})
	do(err)
	_, err = db.Settle(t.Context(), ledger.Settlement{Fence: c.Fence, Items: []ledger.SettleItem{{ID: id, Result: ledger.Failed, Dead: true}}})
	do(err)
	return New(Options{Ledger: db, Clock: clock, Audit: func(string, string, ...slog.Attr) {}}), clock, id
}

// TestWriteOffOfALateUpload checks that a write-off leaves a dead letter whose
// upload may still take effect, with the time until then, and that a plan
// excludes it, too.
func TestWriteOffOfALateUpload(t *testing.T) {
	s, clock, id := lateLetter(t)
	all := api.DeadRequest{All: true}
	planned := func() (items []plan.Item) {
		t.Helper()
		if err := s.deadItems(t.Context(), api.PlanRequest{Command: writeOff, Dead: &all}, func(i plan.Item) error {
			items = append(items, i)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return items
	}
	until := clock.Now().Add(time.Hour)
	n, err := s.WriteOff(t.Context(), all)
	if err != nil || n.Count != 0 || n.Late != 1 || !n.LateUntil.Equal(until.Time()) {
		t.Errorf("written off %+v, %v; want one left until %s", n, err, until)
	}
	if items := planned(); len(items) != 0 {
		t.Errorf("planned %+v", items)
	}
	out, err := s.applyDead(t.Context(), []plan.Item{{Do: writeOff, ID: string(id)}})
	if err != nil || len(out) != 1 || out[0].Outcome != plan.Changed || !strings.Contains(out[0].Detail, "may still land") {
		t.Errorf("applied %+v, %v", out, err)
	}
	clock.Advance(time.Hour)
	if items := planned(); len(items) != 1 {
		t.Errorf("planned %+v once nothing can land any more", items)
	}
	if n, err := s.WriteOff(t.Context(), all); err != nil || n.Count != 1 || n.Late != 0 {
		t.Errorf("written off %+v, %v once nothing can land any more", n, err)
	}
}

// What audit lines say of before and after has the names of the admin API.
func TestStatesHaveTheNamesOfTheAPI(t *testing.T) {
	s, _, _ := lateLetter(t)
	dead, err := s.deadState(t.Context(), api.DeadRequest{All: true})
	if got, want := Audited(dead), `[{"backend":"main","state":"dead","blobs":1,"bytes":4}]`; got != want || err != nil {
		t.Errorf("dead letters are told as %s, %v; want %s", got, err, want)
	}
	trash, err := s.trashesState(t.Context(), api.TrashRequest{All: true})
	if got, want := Audited(trash), `{"due":0,"bytes":0,"age_seconds":0,"scheduled":0}`; got != want || err != nil {
		t.Errorf("the trash is told as %s, %v; want %s", got, err, want)
	}
}
