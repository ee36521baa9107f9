package placement_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
)

// figures is a ledger's result about its backends.
type figures struct {
	backends []ledger.Backend
	totals   []ledger.Total
	err      error
}

func (f *figures) Backends(context.Context) ([]ledger.Backend, error) { return f.backends, f.err }
func (f *figures) Totals(context.Context) ([]ledger.Total, error)     { return f.totals, f.err }

// three backends of 100 bytes each, of which 50, 20 and 0 are used.
func three() *figures {
	return &figures{
		backends: []ledger.Backend{{ID: "a", Quota: 100}, {ID: "b", Quota: 100}, {ID: "c", Quota: 100}},
		totals: []ledger.Total{
			{Backend: "a", State: lethe.Live, Bytes: 40}, {Backend: "a", State: lethe.Pending, Bytes: 10},
			{Backend: "b", State: lethe.Condemned, Bytes: 15}, {Backend: "b", State: lethe.Dead, Bytes: 5},
		},
	}
}

func router(t *testing.T, f *figures, o placement.RouterOptions) *placement.Router {
	t.Helper()
	o.Ledger, o.Order = f, []string{"a", "b", "c"}
	r := placement.NewRouter(o)
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func wantPick(t *testing.T, r *placement.Router, size int64, want ...string) {
	t.Helper()
	if got := r.Pick(size); !slices.Equal(got, want) {
		t.Errorf("for %d bytes: %v, want %v", size, got, want)
	}
}

func TestPackFillsInOrder(t *testing.T) {
	r := router(t, three(), placement.RouterOptions{})
	wantPick(t, r, 50, "a", "b", "c")
	wantPick(t, r, 51, "b", "c")
	wantPick(t, r, 81, "c")
	wantPick(t, r, -1, "a", "b", "c")
}

func TestSpreadTakesTheEmptiestByRatio(t *testing.T) {
	f := three()
	f.backends[0].Quota = 1000
	r := router(t, f, placement.RouterOptions{Strategy: placement.Spread})
	wantPick(t, r, 10, "c", "a", "b")
}

func TestOwnWritesCountAtOnce(t *testing.T) {
	f := three()
	r := router(t, f, placement.RouterOptions{Strategy: placement.Spread})
	r.Wrote(ledger.Blob{Backend: "c"}, 90)
	wantPick(t, r, 10, "b", "a", "c")
	wantPick(t, r, 11, "b", "a")
	f.totals = append(f.totals, ledger.Total{Backend: "c", State: lethe.Live, Bytes: 5})
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantPick(t, r, 10, "c", "b", "a")
}

func TestFiguresThatCannotBeReadStay(t *testing.T) {
	f := three()
	r := router(t, f, placement.RouterOptions{})
	f.err = errors.New("no ledger")
	if err := r.Refresh(t.Context()); !errors.Is(err, f.err) {
		t.Fatal(err)
	}
	wantPick(t, r, 51, "b", "c")
}

func TestDrainingAndDownAreSkipped(t *testing.T) {
	f := three()
	f.backends[1].Draining = true
	down := errors.New("breaker")
	r := router(t, f, placement.RouterOptions{Health: func(id string) error {
		if id == "c" {
			return fmt.Errorf("%w: %w: %w", blob.ErrNotDone, blob.ErrDown, down)
		}
		return nil
	}})
	wantPick(t, r, 10, "a")
	// Only room is missing on a: the ledger decides.
	wantPick(t, r, 90, "a")
	err := r.Refuse(90)
	if !errors.Is(err, lethe.ErrUnavailable) || errors.Is(err, lethe.ErrNoRoom) {
		t.Errorf("a backend is only down for now, but: %v", err)
	}
}

func TestRefusalNamesEachBackend(t *testing.T) {
	f := three()
	f.backends[2].Draining = true
	r := router(t, f, placement.RouterOptions{Health: func(id string) error {
		if id == "a" {
			return fmt.Errorf("%w: at /some/where", blob.ErrFull)
		}
		return nil
	}})
	err := r.Refuse(200)
	if !errors.Is(err, lethe.ErrNoRoom) || errors.Is(err, lethe.ErrUnavailable) {
		t.Fatal(err)
	}
	want := "No backend has room for 200 bytes: a has a full disk; b has 80 bytes free of 100 (20 wait to be deleted); c is being drained."
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if text := r.Refuse(-1).Error(); strings.Contains(text, "-1") {
		t.Error(text)
	}
}

// space is a disk with some bytes free.
type space int64

func (s space) Free(context.Context) (int64, error) { return int64(s), nil }

func TestWithoutAQuotaTheDiskLimits(t *testing.T) {
	f := three()
	f.backends[0].Quota, f.backends[2].Quota = 0, 0
	r := router(t, f, placement.RouterOptions{Strategy: placement.Spread, Spacers: map[string]blob.Spacer{"a": space(30)}})
	wantPick(t, r, 10, "c", "b", "a")
	wantPick(t, r, 31, "c", "b")
}

func TestABackendThatTheLedgerDoesNotKnowIsPassedOver(t *testing.T) {
	f := three()
	f.backends = f.backends[:2]
	r := router(t, f, placement.RouterOptions{})
	wantPick(t, r, 10, "a", "b")
	if text := r.Refuse(1000).Error(); !strings.Contains(text, "c is not known to the ledger") {
		t.Error(text)
	}
}
