package sqladopt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
)

// A folder is seen, seen again and marked, retained, purged. Live folders, and
// objects outside of folders, stay.
func TestFolderWithoutARowGoes(t *testing.T) {
	s := newShelf(t)
	s.store("elsewhere/gone/topics/t/data", 30*24*time.Hour)
	s.put("gone/notes", 30*24*time.Hour)
	s.put("gone/other/t/data", 30*24*time.Hour)
	before := s.keys()
	s.marked("gone/topics/t", "x/1", "x/2")
	s.is("gone/topics/t 3")
	if !s.has("gone/topics/t/TO_DELETE") {
		t.Errorf("no marker: %v", s.keys())
	}
	s.ran(map[string]int64{"waiting": 1})
	s.wait(retention)
	if b, err := s.Plan(t.Context()); err != nil || b.Due != 1 {
		t.Errorf("%d folders are due, %v; want 1", b.Due, err)
	}
	s.ran(map[string]int64{"folders": 1, "objects": 3})
	if keys := s.keys(); !slices.Equal(keys, before) {
		t.Errorf("left are %v, want %v", keys, before)
	}
	s.is()
	var receipts string
	if err := s.app.QueryRow(t.Context(), `SELECT string_agg(kind || ' ' || keys, ' ' ORDER BY id) FROM lethe.receipts`).Scan(&receipts); err != nil {
		t.Fatal(err)
	}
	if want := `objects ["sequences/gone/topics/t/data","sequences/gone/topics/t/x/1","sequences/gone/topics/t/x/2"] folders ["gone/topics/t"]`; receipts != want {
		t.Errorf("receipts are %s, want %s", receipts, want)
	}
}

// A folder that is written to is not abandoned, at the first look or a later
// one.
func TestYoungFolderStays(t *testing.T) {
	s := newShelf(t)
	s.put("new/topics/t/data", 0)
	s.ran(map[string]int64{"young": 1})
	s.is()
	s.wait(minAge)
	s.ran(map[string]int64{"noticed": 1})
	s.put("new/topics/t/more", 0)
	s.ran(map[string]int64{"young": 1})
	s.is()
}

// A row that comes back deletes its folder's record and marker.
func TestRowThatComesBackCancels(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.put("seen/topics/t/data", 30*24*time.Hour)
	s.ran(map[string]int64{"waiting": 1, "noticed": 1})
	s.wait(retention)
	s.row("gone", "t")
	s.row("seen", "t")
	s.ran(map[string]int64{"cancelled": 1})
	s.is()
	s.said("gone/topics/t: it has a row again")
	if s.has("gone/topics/t/TO_DELETE") || !s.has("gone/topics/t/data") {
		t.Errorf("left are %v", s.keys())
	}
}

// The row may come back between the look and the mark of a run.
func TestRowThatComesBackBeforeAMarker(t *testing.T) {
	s := newShelf(t)
	s.put("gone/topics/t/data", 30*24*time.Hour)
	s.ran(map[string]int64{"noticed": 1})
	pass := s.Pass("w")
	if _, err := s.steps(pass, 1); err != nil {
		t.Fatal(err)
	}
	s.row("gone", "t")
	if counts, err := s.steps(pass, -1); err != nil || counts["marked"] != 0 || s.has("gone/topics/t/TO_DELETE") {
		t.Errorf("the rest of the run counted %v, %v; left are %v", counts, err, s.keys())
	}
	s.ran(map[string]int64{})
	s.is()
}

// A file of the application with the marker's name, in a live folder, is not
// ours.
func TestMarkerOfALiveFolderStays(t *testing.T) {
	s := newShelf(t)
	s.put("a/topics/live/TO_DELETE", 30*24*time.Hour)
	s.ran(map[string]int64{})
	if !s.has("a/topics/live/TO_DELETE") {
		t.Error("it was removed")
	}
}

// Removing a marker saves the folder: everything begins again.
func TestMarkerRemovedByHandCancels(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.wait(retention)
	s.delete("gone/topics/t/TO_DELETE")
	s.ran(map[string]int64{"cancelled": 1})
	s.said("its marker was removed")
	s.is()
	s.ran(map[string]int64{"noticed": 1})
	s.ran(map[string]int64{"marked": 1})
	s.ran(map[string]int64{"waiting": 1})
}

// A folder that another program removed is not recorded any more, nor is one
// whose marker was removed during the purge.
func TestFolderThatOthersRemove(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t", many(1500)...)
	s.wait(retention)
	pass := s.Pass("w")
	if _, err := s.steps(pass, 2); err != nil {
		t.Fatal(err)
	}
	s.delete("gone/topics/t/TO_DELETE")
	if counts, err := s.steps(pass, -1); err != nil || counts["cancelled"] != 1 || counts["objects"] != 0 {
		t.Errorf("without its marker the next pages counted %v, %v", counts, err)
	}
	s.is()
	s.ran(map[string]int64{"noticed": 1})
	for _, key := range s.keys() {
		if strings.HasPrefix(key, "gone/") {
			s.delete(key)
		}
	}
	s.ran(map[string]int64{})
	s.is()
}

// A marker without a record does not count: the retention begins when it is
// recorded.
func TestMarkerWithoutARecordWaitsAgain(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.sql(`DELETE FROM lethe.folders`)
	s.wait(10 * retention)
	s.ran(map[string]int64{"noticed": 1})
	s.ran(map[string]int64{"marked": 1})
	s.ran(map[string]int64{"waiting": 1})
	s.wait(retention)
	s.ran(map[string]int64{"folders": 1, "objects": 1})
}

// The retention has to be over by both clocks.
func TestRetentionByBothClocks(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.waitBackend(retention)
	s.ran(map[string]int64{"waiting": 1})
	s.sql(`UPDATE lethe.folders SET marked_at = marked_at - $1`, retention.Microseconds())
	s.waitBackend(-retention / 2)
	s.ran(map[string]int64{"waiting": 1})
	s.waitBackend(retention / 2)
	s.ran(map[string]int64{"folders": 1, "objects": 1})
}

// What was written after the marker is not purged, whether it is in the listing
// of the run or in that of a page.
func TestNewerObjectCancels(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.wait(retention)
	s.put("gone/topics/t/new", 0)
	s.ran(map[string]int64{"cancelled": 1})
	s.said("gone/topics/t: it was written to after it was marked")
	if s.has("gone/topics/t/TO_DELETE") || !s.has("gone/topics/t/data") {
		t.Errorf("left are %v", s.keys())
	}
	s.wait(minAge)
	s.ran(map[string]int64{"noticed": 1})
	s.ran(map[string]int64{"marked": 1})
	s.wait(retention)
	pass := s.Pass("w")
	if _, err := s.steps(pass, 1); err != nil {
		t.Fatal(err)
	}
	s.put("gone/topics/t/newer", 0)
	if counts, err := s.steps(pass, -1); err != nil || counts["cancelled"] != 1 || counts["objects"] != 0 {
		t.Errorf("the rest of the run counted %v, %v", counts, err)
	}
	s.said("gone/topics/t/newer was written after it was marked")
	if s.has("gone/topics/t/TO_DELETE") {
		t.Error("the marker is left, and nobody knows it any more")
	}
}

// many returns n names of objects.
func many(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("%04d", i))
	}
	return keys
}

// A folder is purged in pages of 1,000, each after another check: a row that
// comes back meanwhile saves the rest.
func TestRowThatComesBackBetweenPages(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t", many(1500)...)
	s.wait(retention)
	pass := s.Pass("w")
	counts, err := s.steps(pass, 2)
	if err != nil || counts["objects"] != 1000 {
		t.Fatalf("the first page counted %v, %v", counts, err)
	}
	s.is("gone/topics/t 4")
	s.row("gone", "t")
	if counts, err = s.steps(pass, -1); err != nil || counts["objects"] != 0 {
		t.Errorf("the next pages counted %v, %v", counts, err)
	}
	s.said("it has a row again, after 1,000 of its objects were removed")
	s.is()
	if keys := s.keys(); len(keys) != 2+501 || s.has("gone/topics/t/TO_DELETE") {
		t.Errorf("%d keys are left, want 503, without a marker", len(keys))
	}
}

// The next run continues a purge that was interrupted.
func TestPurgeIsTakenUp(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t", many(1500)...)
	s.wait(retention)
	if _, err := s.steps(s.Pass("w"), 2); err != nil {
		t.Fatal(err)
	}
	s.ran(map[string]int64{"folders": 1, "objects": 501})
	if keys := s.keys(); len(keys) != 2 {
		t.Errorf("%d keys are left, want 2", len(keys))
	}
	s.is()
}

// A run handles no more folders than its limit; the next continues.
func TestLimitOfARun(t *testing.T) {
	s := newShelf(t)
	for i := range 3 {
		s.put(fmt.Sprintf("gone/topics/%d/data", i), 30*24*time.Hour)
	}
	s.Rules.Most = 2
	s.ran(map[string]int64{"noticed": 3})
	s.ran(map[string]int64{"marked": 2, "limited": 1})
	s.ran(map[string]int64{"marked": 1, "waiting": 2})
	s.wait(retention)
	s.ran(map[string]int64{"folders": 2, "objects": 2, "limited": 1})
	s.ran(map[string]int64{"folders": 1, "objects": 1})
}

// A report describes what a run would do, and changes nothing.
func TestReportChangesNothing(t *testing.T) {
	s := newShelf(t)
	s.marked("due/topics/t")
	s.wait(retention)
	s.put("seen/topics/t/data", 30*24*time.Hour)
	s.sql(`INSERT INTO lethe.folders (collection, name, state, seen_at) VALUES ('topics', 'seen/topics/t', 1, 0)`)
	s.put("first/topics/t/data", 30*24*time.Hour)
	keys, record := s.keys(), s.record()
	p, err := s.Report(t.Context())
	if err != nil || len(p.Notice) != 1 || len(p.Mark) != 1 || len(p.Purge) != 1 || p.Live != 2 {
		t.Errorf("it reports %+v, %v", p, err)
	}
	if want := "of the folders 2 have a row, 0 are young, 0 are marked and wait; a run notes 1 that have none (1 object, 1 byte), such as first/topics/t, " +
		"marks 1 (1 object, 1 byte), such as seen/topics/t, purges 1 (1 object, 1 byte), such as due/topics/t"; p.String() != want {
		t.Errorf("it says %s", p)
	}
	if p.Purge[0].Folder.Objects != 1 || p.Purge[0].Folder.Bytes != 1 {
		t.Errorf("of what is due it reports %+v", p.Purge[0].Folder)
	}
	if got := s.keys(); !slices.Equal(got, keys) {
		t.Errorf("left are %v, want %v", got, keys)
	}
	s.is(record...)
	s.sql(`DROP SCHEMA lethe CASCADE`)
	if p, err = s.Report(t.Context()); err != nil || len(p.Notice) != 3 {
		t.Errorf("without Lethe's tables it reports %+v, %v", p, err)
	}
}

// Removing adoption leaves no marker behind.
func TestWithdraw(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	if err := s.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.is()
	if s.has("gone/topics/t/TO_DELETE") || !s.has("gone/topics/t/data") {
		t.Errorf("left are %v", s.keys())
	}
}

// A marker that was put and not recorded, because the process died, is recorded
// by the next run, or removed.
func TestMarkerThatWasNotRecorded(t *testing.T) {
	for _, back := range []bool{false, true} {
		s := newShelf(t)
		s.marked("gone/topics/t")
		s.sql(`UPDATE lethe.folders SET state = 2, marked_at = 0, marker_at = 0`)
		if !back {
			s.ran(map[string]int64{"marked": 1})
			s.ran(map[string]int64{"waiting": 1})
			continue
		}
		s.row("gone", "t")
		s.ran(map[string]int64{"cancelled": 1})
		s.is()
		if s.has("gone/topics/t/TO_DELETE") {
			t.Error("the marker is left")
		}
	}
}

// A folder that is written to before its marker is put is left alone for as long as its objects
// are young, also where the retention is shorter.
func TestFolderThatIsWrittenToBeforeItsMarker(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.sql(`UPDATE lethe.folders SET state = 2, marked_at = 0, marker_at = 0`)
	s.put("gone/topics/t/new", 0)
	s.ran(map[string]int64{"young": 1})
	s.is()
	if s.has("gone/topics/t/TO_DELETE") {
		t.Error("the marker is left")
	}
	s.wait(minAge)
	s.ran(map[string]int64{"noticed": 1})
	pass := s.Pass("w")
	if _, err := s.steps(pass, 1); err != nil {
		t.Fatal(err)
	}
	s.put("gone/topics/t/newer", 2*time.Second)
	if counts, err := s.steps(pass, -1); err != nil || counts["marked"] != 1 {
		t.Fatalf("the rest of the run counted %v, %v", counts, err)
	}
	s.Rules.Retention = minAge / 4
	s.wait(minAge / 2)
	s.ran(map[string]int64{"waiting": 1})
	s.wait(minAge / 2)
	s.ran(map[string]int64{"folders": 1, "objects": 3})
}

// locked is a store that refuses to delete one key.
type locked struct {
	adopt.FolderStore
	key string
}

func (l locked) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if slices.Contains(keys, l.key) {
		return []blob.Result{{Key: l.key, Err: fmt.Errorf("access denied: %w", blob.ErrNotDone)}}, nil
	}
	return l.FolderStore.Delete(ctx, keys)
}

// A marker that cannot be removed keeps no other folder from going, and is tried again.
func TestMarkerThatCannotBeRemoved(t *testing.T) {
	s := newShelf(t)
	store := s.Store
	s.put("back/topics/t/data", 30*24*time.Hour)
	s.put("gone/topics/t/data", 30*24*time.Hour)
	s.ran(map[string]int64{"noticed": 2})
	s.ran(map[string]int64{"marked": 2})
	s.put("new/topics/t/data", 30*24*time.Hour)
	s.row("back", "t")
	s.Store = locked{store, "back/topics/t/TO_DELETE"}
	s.ran(map[string]int64{"failed": 1, "noticed": 1, "waiting": 1})
	s.said("1 failed: remove the marker of sequences/back/topics/t: access denied")
	s.wait(retention)
	s.ran(map[string]int64{"failed": 1, "marked": 1, "folders": 1, "objects": 1})
	s.is("back/topics/t 3", "new/topics/t 3")
	if err := s.Withdraw(t.Context()); err == nil {
		t.Error("what cannot be removed is forgotten")
	}
	s.Store = store
	s.ran(map[string]int64{"cancelled": 1, "waiting": 1})
	s.wait(retention)
	s.Store = locked{store, "new/topics/t/TO_DELETE"}
	s.ran(map[string]int64{"failed": 1, "objects": 1})
	s.Store = store
	s.ran(map[string]int64{"folders": 1})
	s.is()
}
