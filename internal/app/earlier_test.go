package app_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
)

// Whatever opens a store for itself, a command too, ends the runs and the claims of a server that
// was killed.
func TestClaimsOfAKilledServerEnd(t *testing.T) {
	c := config.Default()
	c.DataDir = t.TempDir()
	to := slog.New(slog.DiscardHandler)
	open := func(create bool) *app.Store {
		s, err := app.OpenStore(t.Context(), c, app.Options{Create: create, Log: to})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	killed := open(true)
	id, backend := lethe.RandomID(lethe.SystemClock{}.Now()), c.Backends[0].Name
	must(killed.Ledger.StartRun(t.Context(), ledger.Run{ID: id, Routine: "reconcile", Worker: "killed"}))
	_, err := killed.Ledger.QueuePlacements(t.Context(), []ledger.Subject{{ID: id}})
	must(err)
	places, err := killed.Ledger.ClaimPlacements(t.Context(), ledger.PlacementClaim{Worker: "killed", Limit: 1, Lease: time.Hour})
	must(err)
	_, err = killed.Ledger.Begin(t.Context(), ledger.Intent{ID: id, Backend: backend, Size: 1})
	must(err)
	must(killed.Ledger.Abandon(t.Context(), id, false))
	deletes, err := killed.Ledger.ClaimCondemned(t.Context(), ledger.ClaimRequest{Worker: "killed", Backend: backend})
	must(err)
	if len(places.Items) != 1 || len(deletes.Blobs) != 1 {
		t.Fatalf("claimed %+v, %+v", places, deletes)
	}
	must(killed.Close())
	var log bytes.Buffer
	to = slog.New(slog.NewTextHandler(&log, nil))
	s := open(false)
	t.Cleanup(func() { _ = s.Close() })
	runs, _, err := s.Ledger.LastRuns(t.Context())
	if err != nil || len(runs) != 1 || runs["reconcile"].Outcome != "interrupted" {
		t.Errorf("runs %+v, %v", runs, err)
	}
	if b, err := s.Ledger.CleanBacklog(t.Context(), backend); err != nil || b.Count != 1 {
		t.Errorf("deletes that are due: %+v, %v", b, err)
	}
	if says := log.String(); !strings.Contains(says, `audit=true event=claims_recovered reason="its process is gone"`) {
		t.Errorf("no audit line of the claims on blobs: %s", says)
	}
	if b, err := s.Ledger.PlaceBacklog(t.Context()); err != nil || b.Count != 1 {
		t.Errorf("placements that are due: %+v, %v", b, err)
	}
}
