package adoption

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// planOf returns a plan of everything, and its number of items.
func planOf(t *testing.T, a *Adoption) (*bytes.Reader, int64) {
	t.Helper()
	var out bytes.Buffer
	end, err := a.WritePlan(t.Context(), nil, "test", &out)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes()), end.Totals.Items
}

// Orphans in a plan are deleted unless a row names them by then; one that a row names already is in no plan, and
// a later one is not deleted and stays recorded.
func TestPlanOfKeys(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "back", "orphan", "rescued", "z")
	f.row("a", "z")
	f.passes(map[string]int64{"orphans": 3})
	f.waited()
	f.row("back") // the next run finds it
	file, _ := planOf(t, f.Adoption)
	f.put("late")
	if _, err := f.keys["files"].See(t.Context(), adopt.Seeing{Orphans: []adopt.OrphanObject{{Key: "files/late"}}, Retention: time.Hour}); err != nil {
		t.Fatal(err)
	}
	f.waited()
	f.row("rescued")
	applied, err := f.Apply(t.Context(), file, ApplyOptions{})
	if err != nil || len(applied) != 1 || applied[0].Items != 2 || applied[0].Counts["objects"] != 1 {
		t.Fatalf("applied %+v, %v", applied, err)
	}
	f.left("a", "back", "late", "rescued", "z")
	f.passes(map[string]int64{"orphans": 1, "objects": 0})
	f.waited()
	f.passes(map[string]int64{"orphans": 1, "objects": 1})
	f.left("a", "back", "rescued", "z")
}

// Folders in a plan are marked; later ones are not.
func TestPlanOfFolders(t *testing.T) {
	a := newArchive(t)
	a.record("stays", "t")
	a.record("gone", "t")
	a.record("late", "t")
	a.drop("gone", "")
	a.drop("late", "")
	one := a.adopt("one")
	seen := func(name string) {
		t.Helper()
		if _, err := a.conn.Exec(t.Context(), `INSERT INTO lethe.folders (collection, name, state, seen_at) VALUES ('topics', $1, 1, 1)`, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen("gone/topics/t")
	file, items := planOf(t, one)
	for items == 0 { // its objects are young at first
		if err := lethe.Sleep(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		file, items = planOf(t, one)
	}
	seen("late/topics/t")
	applied, err := one.Apply(t.Context(), file, ApplyOptions{})
	if err != nil || len(applied) != 1 || applied[0].Counts["marked"] != 1 {
		t.Fatalf("applied %+v, %v", applied, err)
	}
	var state string
	if err := a.conn.QueryRow(t.Context(), `SELECT string_agg(name || ' ' || state, ', ' ORDER BY name) FROM lethe.folders`).Scan(&state); err != nil || state != "gone/topics/t 3, late/topics/t 1" {
		t.Errorf("on record are %s, %v", state, err)
	}
}

// A plan that is older than a day is applied only if forced.
func TestOldPlan(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "orphan", "z")
	f.row("a", "z")
	f.passes(map[string]int64{"orphans": 1})
	f.waited()
	h, err := f.header(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	h.At = h.At.Add(-planAge - time.Second)
	var out bytes.Buffer
	w, err := plan.NewWriter(&out, h)
	if err == nil {
		err = w.Add(plan.Item{Do: "keys files", Kind: "orphan", ID: "files/orphan", Why: "test"})
	}
	if err == nil {
		_, err = w.Close(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Apply(t.Context(), bytes.NewReader(out.Bytes()), ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("an old plan was applied: %v", err)
	}
	f.left("a", "orphan", "z")
	if _, err := f.Apply(t.Context(), bytes.NewReader(out.Bytes()), ApplyOptions{Old: true}); err != nil {
		t.Error(err)
	}
	f.left("a", "z")
}
