package adoption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/ledger"
)

// otherwise is this application in another description, which edit changes.
func (f *files) otherwise(edit func(collections map[string]adopt.Collection)) *Adoption {
	f.t.Helper()
	d := *f.whole
	d.Collections = maps.Clone(d.Collections)
	edit(d.Collections)
	a, err := Open(f.t.Context(), &d, Options{Worker: "another"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = a.Close() })
	return a
}

// renamed gives a collection another name, prefix, and no quarantine.
func renamed(prefix string) func(map[string]adopt.Collection) {
	return func(all map[string]adopt.Collection) {
		c := all["files"]
		c.Prefix, c.Quarantine = prefix, nil
		delete(all, "files")
		all["others"] = c
	}
}

// finds checks which of the texts are among the findings of a collection.
func finds(t *testing.T, a *Adoption, name string, want bool, text string) {
	t.Helper()
	found, err := a.check(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(found[name]); strings.Contains(got, text) != want {
		t.Errorf("%q found: %t, want %t, in %s", text, !want, want, got)
	}
}

// Another description of the database that deletes in what a collection has, or in its
// quarantine, is a problem of the one that comes second, also with the same prefix. It ends an
// hour after the other has run, and neither finds itself.
func TestAnotherDescriptionOverlaps(t *testing.T) {
	quarantined := adopt.QuarantineSpec{Prefix: "quarantine/"}
	f := newCollection(t, nil, adopt.Collection{Quarantine: &quarantined})
	f.put("a", "b")
	f.row("a", "b")
	f.passes(map[string]int64{"orphans": 0})
	const another = "another description of this database (collection files) is at work below "
	for prefix, overlaps := range map[string]bool{"": true, "files/": true, "files/sub/": true, "more/": false} {
		finds(t, f.otherwise(renamed(prefix)), "others", overlaps, another+f.bucket+"/files/")
	}
	finds(t, f.otherwise(renamed("quarantine/")), "others", true, another+f.bucket+"/quarantine/")
	finds(t, f.otherwise(func(map[string]adopt.Collection) {}), "files", false, "at work")
	finds(t, f.Adoption, "files", false, "at work")

	second := f.otherwise(renamed("files/"))
	if err := second.Prepare(t.Context()); err != nil || len(second.Idle()) != 1 {
		t.Errorf("the second description works on %v, %v", second.Idle(), err)
	}
	finds(t, f.Adoption, "files", false, "at work") // what does not work is in nobody's way
	if err := f.Rest(t.Context()); err != nil {     // as after a run --once
		t.Fatal(err)
	}
	finds(t, second, "others", true, another)
	f.exec(`UPDATE lethe.at_work SET at = at - $1`, time.Hour.Microseconds())
	finds(t, second, "others", false, "at work")
	if mended, err := second.mended(t.Context()); err != nil || len(mended) != 1 {
		t.Errorf("an hour later %v goes on, %v", mended, err)
	}
	finds(t, f.Adoption, "files", true, "(collection others) is at work below "+f.bucket+"/files/")
}

// What only reports is in nobody's way, and is told; a plan of it is not applied.
func TestAReportBesideAnotherDescription(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", "b")
	f.row("a")
	f.passes(map[string]int64{"orphans": 1})
	beside := f.otherwise(func(all map[string]adopt.Collection) {
		renamed("files/")(all)
		c := all["others"]
		c.Mode = adopt.Report
		all["others"] = c
	})
	finds(t, beside, "others", true, "(collection files) is at work")
	if found, err := beside.Check(t.Context()); err != nil || adopt.Problems(found["others"]) || !strings.Contains(fmt.Sprint(found["others"]), "objects with a row: 1") {
		t.Errorf("a check of what only reports finds %v, %v", found, err)
	}
	finds(t, f.Adoption, "files", false, "at work")
	f.exec(`INSERT INTO lethe.orphans SELECT 'others', "key", size, modified, 0, 0, seen_at FROM lethe.orphans`)
	file, items := planOf(t, beside)
	if _, err := beside.Apply(t.Context(), file, ApplyOptions{Reported: true}); items != 1 || err == nil || !strings.Contains(err.Error(), "(collection files) is at work") {
		t.Errorf("a plan of %d beside another description: %v", items, err)
	}
}

// A plan of what only reports works on it: other descriptions find that, and nothing of it once the
// plan was refused.
func TestAPlanOfAReportIsAtWork(t *testing.T) {
	f := newFiles(t, nil)
	beside := f.otherwise(func(all map[string]adopt.Collection) {
		renamed("files/")(all)
		c := all["others"]
		c.Mode = adopt.Report
		all["others"] = c
	})
	const another = "(collection others) is at work below "
	f.put("a", "b")
	f.row("a")
	f.exec(`INSERT INTO lethe.orphans SELECT 'others', 'files/b', 1, 0, 0, 0, 0`)
	file, items := planOf(t, beside)
	if _, err := beside.Apply(t.Context(), file, ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "collection others only reports") {
		t.Errorf("a plan of %d is applied to what only reports: %v", items, err)
	}
	finds(t, f.Adoption, "files", false, "at work")
	file, _ = planOf(t, beside)
	if _, err := beside.Apply(t.Context(), file, ApplyOptions{Reported: true}); err != nil {
		t.Error(err)
	}
	finds(t, f.Adoption, "files", true, another)
}

// Processes that have host and process id in common, as containers may, find each other.
func TestProcessesOfOneHostAndID(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a")
	f.row("a")
	d := *f.whole
	d.Collections = maps.Clone(d.Collections)
	c := d.Collections["files"]
	c.Prefix = ""
	d.Collections["files"] = c
	other, err := Open(t.Context(), &d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := f.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := other.Prepare(t.Context()); err != nil || len(other.Idle()) != 1 {
		t.Errorf("another file works on %v, %v beside an instance of the first", other.Idle(), err)
	}
}

// What is suspended because of another description is not recorded while it is checked again: the
// other would be suspended for it.
func TestASuspendedInstanceIsInNobodysWay(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a")
	f.row("a")
	f.passes(map[string]int64{"orphans": 0})
	second := f.otherwise(renamed("files/"))
	if err := second.Prepare(t.Context()); err != nil || len(second.Idle()) != 1 {
		t.Fatalf("the second description works on %v, %v", second.Idle(), err)
	}
	f.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'recorded'; END $$`)
	f.exec(`CREATE TRIGGER refuse BEFORE INSERT ON lethe.at_work FOR EACH ROW EXECUTE FUNCTION refuse()`)
	if mended, err := second.mended(t.Context()); err != nil || len(mended) > 0 {
		t.Errorf("beside the first description %v goes on, %v", mended, err)
	}
	f.exec(`DELETE FROM lethe.at_work`)
	if _, err := second.mended(t.Context()); err == nil || !strings.Contains(err.Error(), "recorded") {
		t.Errorf("alone, it is checked without a record: %v", err)
	}
}

// What cannot be prepared is not at work.
func TestAnInstanceThatCannotBePrepared(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a")
	f.row("a")
	f.exec(`INSERT INTO lethe.troubles (collection, kind, "key", at, why) VALUES ('files', 3, '', 0, '')`)
	f.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`)
	f.exec(`CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON lethe.troubles FOR EACH ROW EXECUTE FUNCTION refuse()`)
	if err := f.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "not now") {
		t.Fatalf("prepared: %v", err)
	}
	finds(t, f.otherwise(renamed("files/")), "others", false, "at work")
}

// A description that was changed finds what its former self had only as long as an instance
// runs by that, or may: one that crashed counts for some minutes.
func TestADescriptionThatWasChanged(t *testing.T) {
	f := newFiles(t, nil)
	f.put("sub/a")
	f.row("sub/a")
	f.passes(map[string]int64{"orphans": 0})
	changed := f.otherwise(func(all map[string]adopt.Collection) {
		c := all["files"]
		c.Prefix = "files/sub/"
		all["files"] = c
	})
	const former = "an instance by another description of collection files is at work below "
	finds(t, changed, "files", true, former)
	if err := f.Rest(t.Context()); err != nil { // run --once has ended
		t.Fatal(err)
	}
	finds(t, changed, "files", false, "at work")
	f.passes(map[string]int64{"orphans": 0})
	finds(t, changed, "files", true, former)
	f.exec(`UPDATE lethe.at_work SET alive = alive - $1`, sqladopt.WorkAlive.Microseconds())
	finds(t, changed, "files", false, "at work")
	run := ledger.Run{ID: "1", Routine: "keys files", Worker: f.o.Worker} // a long one, as of run --once
	if err := errors.Join(f.DB.StartRun(t.Context(), run), f.DB.BeatRun(t.Context(), run.ID, nil)); err != nil {
		t.Fatal(err)
	}
	finds(t, changed, "files", true, former)
	if err := errors.Join(f.Rest(t.Context()), f.DB.BeatRun(t.Context(), run.ID, nil)); err != nil {
		t.Fatal(err)
	}
	finds(t, changed, "files", false, "at work")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx, "") }()
	for works := []sqladopt.WorkOf(nil); len(works) == 0 || !works[0].Alive; {
		var err error
		if works, err = f.DB.AtWork(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was at work: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	finds(t, changed, "files", true, former)
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	finds(t, changed, "files", false, "at work")
}

// Two descriptions do not take rows from one table, wherever their objects lie.
func TestAnotherDescriptionTakesTheSameRows(t *testing.T) {
	f := owned(t)
	if err := f.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := f.otherwise(renamed("elsewhere/"))
	finds(t, other, "others", true, "is at work on the rows of ")
	finds(t, f.otherwise(renamed("files/")), "others", true, "is at work on the rows of ")
	finds(t, f.otherwise(func(all map[string]adopt.Collection) { // without objects
		rows := all["files"].Rows
		rows.Objects = nil
		delete(all, "files")
		all["others"] = adopt.Collection{Mode: adopt.Reclaim, Rows: rows}
	}), "others", true, "is at work on the rows of ")
	finds(t, f.Adoption, "files", false, "at work")
	finds(t, f.otherwise(func(map[string]adopt.Collection) {}), "files", false, "at work")
}

// What is no epoch has a remedy of its own.
func TestNoEpoch(t *testing.T) {
	f := newFiles(t, nil)
	f.put("a", ".lethe/epoch/notes.txt")
	f.row("a")
	found, err := f.check(t.Context(), all)
	if text := fmt.Sprint(found["files"]); err != nil || !strings.Contains(text, "notes.txt\" is no epoch") || !strings.Contains(text, "look at that object, and remove it by hand") {
		t.Errorf("a check finds %s, %v", text, err)
	}
}
