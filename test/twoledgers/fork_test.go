package twoledgers_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/servers"
)

const (
	// relocated and advanced are expressions of the reasons for which deletes are held.
	relocated = "one of the two is a copy"
	// One that is overtaken while it advances the backend itself says so.
	advanced = "another ledger has advanced it|the backend was advanced by another"
	// seldom is a heartbeat of which none comes while a test lasts.
	seldom = time.Hour
	// unhurried is one in half of which a client has done what it does.
	unhurried = 4 * time.Second
)

// fork is a ledger that went on, and one as it was some time ago, both served at once.
type fork struct {
	newer, older *side
	shelf        *shelf
}

// begin starts a side on a ledger that does not exist yet, and puts what is shared.
func begin(t *testing.T, on *shelf, with settings) *side {
	t.Helper()
	s := newSide(t, "first ledger", on, with)
	s.start("")
	s.makeBucket()
	for _, key := range []string{"kept", "removed-newer", "removed-older", "replaced-newer", "replaced-older"} {
		s.put(key, 0)
	}
	s.put("ends", time.Hour)
	return s
}

// fork makes a side for an older ledger that came from this one.
func (s *side) fork(with settings) *fork {
	s.Helper()
	f := &fork{newer: s, older: newSide(s.T, "copied ledger", s.shelf, with), shelf: s.shelf}
	f.older.from(s)
	return f
}

// newerWorks and olderWorks are what clients do on a side that leaves bytes to which
// only the other one refers. Of the object with a time to live only the newer ledger
// knows that it was given a longer one.
func (f *fork) newerWorks() {
	f.newer.Helper()
	f.newer.remove("removed-newer")
	f.newer.put("replaced-newer", 0)
	f.newer.reclaim()
}

func (f *fork) olderWorks() {
	f.older.Helper()
	f.older.remove("removed-older")
	f.older.put("replaced-older", 0)
	f.older.lives("ends", time.Second)
	f.older.reclaim()
}

// undecided has both sides at work before a person has decided: both say that they are
// held, and nothing that either lists is lost.
func (f *fork) undecided(newer, older string) {
	f.shelf.Helper()
	before := f.shelf.blobs()
	f.newerWorks()
	f.olderWorks()
	f.neither(before, newer, older)
}

// neither checks that both sides are held for a reason, and have deleted nothing.
func (f *fork) neither(before []string, newer, older string) {
	f.shelf.Helper()
	f.older.ended("ends")
	for _, s := range []*side{f.newer, f.older, f.newer} {
		s.reclaim()
	}
	if n := f.shelf.missing(before); n > 0 {
		f.shelf.Errorf("%d blobs were deleted before anybody decided", n)
	}
	f.newer.whole("before anybody decided")
	f.older.whole("before anybody decided")
	f.newer.held(newer)
	f.older.held(older)
}

// decides accepts a side. It deletes what it owes and nothing else goes: the other one
// is held, whatever its clients do. All that the side lists stays, unless the other one
// was accepted before it.
func (f *fork) decides(s, other *side, owes int, first bool) {
	f.shelf.Helper()
	before := f.shelf.blobs()
	f.accepts(s, before, owes)
	other.put("later", 0)
	later := f.shelf.blobs()
	other.remove("later")
	for _, one := range []*side{other, s, other} {
		one.reclaim()
	}
	if n := f.shelf.missing(before); n != owes {
		f.shelf.Errorf("%d blobs are gone once the %s was accepted, which owed %d", n, s.name, owes)
	}
	if n := f.shelf.missing(later); n != 0 {
		f.shelf.Errorf("%d blobs were deleted by the %s, which was not accepted", n, other.name)
	}
	s.goesOn()
	other.held("")
	if first {
		s.whole("accepted")
	}
}

// accepts accepts a side, and waits until it has deleted what it owes of the blobs. An epoch that
// the other side was about to write while the person decided holds both again, until the person
// decides once more.
func (f *fork) accepts(s *side, before []string, owes int) {
	f.shelf.Helper()
	accept := func() { s.lethe("backend", "accept", "main", "--yes") }
	accept()
	s.until("deletes go on", func() error {
		status, err := s.admin.Status(s.Context())
		s.must(err)
		if why := status.Backends[0].Held; why != "" {
			accept()
			return fmt.Errorf("they were held again: %s", why)
		}
		if n, gone := s.backlog(), f.shelf.missing(before); n > 0 || gone < owes {
			return fmt.Errorf("%d blobs wait to be deleted, %d of %d are gone", n, gone, owes)
		}
		return nil
	})
}

// What each side owes: what was removed and replaced there, on the older one what ended.
const (
	newerOwes = 2
	olderOwes = 3
	laterOwes = 1 // what was put and removed while the other one was accepted
)

// The file of the ledger is copied while it is in use, and the copy served. The original
// does not look before it deletes something.
func TestACopyOfTheFile(t *testing.T) {
	besides(t)
	newer := begin(t, newFolder(t), settings{heartbeat: seldom})
	f := newer.fork(settings{})
	newer.freeze() // as a snapshot of the file system is of one moment
	newer.must(os.Mkdir(f.older.folder, 0o700))
	for _, name := range []string{"ledger.db", "ledger.db-wal"} {
		copyFile(t, filepath.Join(newer.folder, name), filepath.Join(f.older.folder, name))
	}
	newer.thaw()
	f.older.start("")
	f.undecided(advanced, relocated)
	f.decides(f.older, f.newer, olderOwes, true)
	newer.restarted(func() { newer.configure(settings{}) })
	f.decides(f.newer, f.older, newerOwes+laterOwes, false)
}

// A backup is written back into the file that it was taken of, and served there, while
// a copy of the newer ledger is served elsewhere.
func TestABackupWrittenBack(t *testing.T) {
	besides(t)
	older := begin(t, newFolder(t), settings{})
	backup := filepath.Join(t.TempDir(), "backup.db")
	older.lethe("backup", backup)
	known := maps.Clone(older.lists)
	older.put("newest", 0)
	newer := newSide(t, "newer ledger", older.shelf, settings{})
	newer.from(older)
	older.lists = known
	older.must(older.process.Stop())
	newer.must(os.Mkdir(newer.folder, 0o700))
	ledger := filepath.Join(older.folder, "ledger.db")
	copyFile(t, ledger, filepath.Join(newer.folder, "ledger.db"))
	copyFile(t, backup, ledger)
	older.start("")
	newer.start("")
	f := &fork{newer: newer, older: older, shelf: older.shelf}
	f.undecided(relocated, advanced)
	f.decides(f.newer, f.older, newerOwes, true)
	f.decides(f.older, f.newer, olderOwes+laterOwes, false)
}

// A database is copied within its cluster.
func TestATemplate(t *testing.T) {
	besides(t)
	cluster := servers.NewPostgres(t)
	database := cluster.Database()
	newer := begin(t, newBucket(t), settings{database: database})
	f := newer.fork(settings{database: cluster.Template(database)})
	f.older.start("")
	f.undecided(advanced, relocated)
	f.decides(f.older, f.newer, olderOwes, true)
	f.decides(f.newer, f.older, newerOwes+laterOwes, false)
}

// A dump is restored into another database. The original does not look before it
// deletes something.
func TestARestoredDump(t *testing.T) {
	besides(t)
	cluster := servers.NewPostgres(t)
	database := cluster.Database()
	newer := begin(t, newBucket(t), settings{database: database, heartbeat: seldom})
	f := newer.fork(settings{database: cluster.Restored(database)})
	f.older.start("")
	f.undecided(advanced, relocated)
	f.decides(f.older, f.newer, olderOwes, true)
	newer.restarted(func() { newer.configure(settings{database: database}) })
	f.decides(f.newer, f.older, newerOwes+laterOwes, false)
}

// A base backup is started as another cluster, which nothing tells from the first. The
// process on the original stands still meanwhile, as a machine does of which a snapshot is
// taken, so that only the quiet beat keeps the other one from deleting.
func TestABaseBackup(t *testing.T) {
	besides(t)
	cluster := servers.NewPostgres(t)
	database := cluster.Database()
	newer := begin(t, newBucket(t), settings{database: database, heartbeat: unhurried})
	newer.freeze()
	f := newer.fork(settings{database: cluster.BaseBackup().On(database), heartbeat: unhurried})
	f.older.start("")
	before := f.shelf.blobs()
	f.olderWorks()
	if n := f.shelf.missing(before); n > 0 {
		t.Errorf("%d blobs were deleted within a beat after the start", n)
	}
	newer.thaw()
	f.newerWorks()
	f.neither(before, "copy", "copy")
	f.decides(f.newer, f.older, newerOwes, true)
	f.decides(f.older, f.newer, olderOwes+laterOwes, false)
}

// freeze has the process stand still until thaw.
func (s *side) freeze() { s.must(s.process.Signal(syscall.SIGSTOP)) }

func (s *side) thaw() { s.must(s.process.Signal(syscall.SIGCONT)) }

// copyFile makes a file a copy of another one; a file that there is stays the same one,
// with other content.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
