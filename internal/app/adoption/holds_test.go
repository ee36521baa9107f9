package adoption

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// A held orphan stays, another one goes; deletes that were allowed before are
// reported.
func TestHeldOrphanStays(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "audit/1", "audit/2", "kept", "orphan", "z")
	f.row("a", "z")
	hold := func(scope adopt.HoldScope, key string, under int) {
		t.Helper()
		_, u, err := f.AddHold(t.Context(), adopt.Hold{Collection: "files", Scope: scope, Key: key})
		if err != nil || u.Objects != under {
			t.Errorf("%d deletes are under way, want %d; %v", u.Objects, under, err)
		}
	}
	f.passes(map[string]int64{"orphans": 4, "held": 0})
	f.waited()
	hold(adopt.HoldPrefix, "files/audit/", 0)
	hold(adopt.HoldObject, "files/kept", 0)
	f.passes(map[string]int64{"orphans": 4, "held": 3, "objects": 1})
	f.left("a", "audit/1", "audit/2", "kept", "z")
	if err := f.ReleaseHold(t.Context(), adopt.Hold{Collection: "files", Scope: adopt.HoldPrefix, Key: "files/audit/"}); err != nil {
		t.Fatal(err)
	}
	rows := f.keys["files"]
	seen, err := rows.See(context.WithoutCancel(t.Context()), adopt.Seeing{Orphans: []adopt.OrphanObject{{Key: "files/audit/1", Size: 7}}, Most: 9})
	if err != nil || len(seen.Condemned) != 1 {
		t.Fatalf("condemned are %v, %v", seen.Condemned, err)
	}
	hold(adopt.HoldPrefix, "files/audit/", 1)
	hold(adopt.HoldCollection, "", 1)
	f.passes(map[string]int64{"orphans": 3, "held": 3})
	f.left("a", "audit/1", "audit/2", "kept", "z")
}

// A hold that cannot cover anything is refused.
func TestHoldsThatCoverNothing(t *testing.T) {
	f := newFiles(t, nil)
	for _, h := range []adopt.Hold{
		{Collection: "others", Scope: adopt.HoldCollection},
		{Collection: "files", Scope: adopt.HoldRow, Key: "1"},
		{Collection: "files", Scope: adopt.HoldObject, Key: "a"},
		{Collection: "files", Scope: adopt.HoldPrefix, Key: "other/"},
	} {
		if _, _, err := f.AddHold(t.Context(), h); err == nil {
			t.Errorf("%s is held", h)
		}
	}
	if _, _, err := f.AddHold(t.Context(), adopt.Hold{Collection: "files", Scope: adopt.HoldPrefix, Key: "fi"}); err != nil {
		t.Error(err)
	}
}
