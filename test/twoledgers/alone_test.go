package twoledgers_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/servers"
)

// The process is killed and another one started on the same ledger: it goes on with what
// is due within two beats, and nobody is asked. A third one is for what else the machine does.
func TestAFailover(t *testing.T) {
	for _, on := range []string{"sqlite", "postgres"} {
		t.Run(on, func(t *testing.T) {
			besides(t)
			with, bytes := settings{heartbeat: unhurried}, newFolder(t)
			if on == "postgres" {
				with.database, bytes = servers.NewPostgres(t).Database(), newBucket(t)
			}
			old := begin(t, bytes, with)
			old.process.Kill()
			next := newSide(t, "next process", bytes, with)
			if on == "sqlite" {
				next = old // the ledger is a file in the folder
			}
			next.from(old)
			next.start("")
			began := lethe.Monotonic{}.Now()
			next.remove("kept")
			next.drained()
			if d := (lethe.Monotonic{}).Now().Sub(began); d > 3*unhurried {
				t.Errorf("it went on after %s, which is more than three beats", d.Round(time.Millisecond))
			}
			next.whole("after a failover")
			next.goesOn()
		})
	}
}

// misplaced waits until status says that something else lies in the backend's place, and until
// deletes are stopped there.
func (s *side) misplaced() {
	s.Helper()
	s.until("status says that the folder is another", func() error {
		if text := s.lethe("status"); !strings.Contains(text, "backend main is not in its place: ") || !strings.Contains(text, "mount its disk") {
			return errors.New(text)
		}
		status, err := s.admin.Status(s.Context())
		s.must(err)
		if status.Backends[0].Held == "" {
			return errors.New("deletes are not stopped yet")
		}
		return nil
	})
}

// A folder is emptied while a batch is about to be deleted there: that nothing is found
// proves nothing, and once all is put back the batch is deleted.
func TestAnEmptiedFolder(t *testing.T) {
	besides(t)
	s := newSide(t, "process", newFolder(t), settings{heartbeat: seldom})
	s.start("unlink/before:1:stop")
	s.makeBucket()
	s.put("kept", 0)
	s.put("removed", 0)
	before := s.shelf.blobs()
	s.remove("removed")
	<-s.reached
	away := t.TempDir()
	s.shelf.moveAll(s.shelf.folder, away)
	s.thaw()
	s.misplaced()
	s.stays(1)
	s.shelf.moveAll(away, s.shelf.folder)
	s.drained()
	if n := s.shelf.missing(before); n != 1 {
		t.Errorf("%d blobs are gone, not 1", n)
	}
	s.found()
}

// Another folder is mounted in the place of the backend's.
func TestAReplacedFolder(t *testing.T) {
	besides(t)
	s := newSide(t, "process", newFolder(t), settings{})
	s.start("")
	s.makeBucket()
	s.put("kept", 0)
	s.put("removed", 0)
	before := s.shelf.blobs()
	away := s.shelf.folder + "-away"
	s.must(os.Rename(s.shelf.folder, away))
	s.must(os.Mkdir(s.shelf.folder, 0o700))
	s.misplaced()
	s.remove("removed")
	s.stays(1)
	s.must(os.Remove(s.shelf.folder)) // nothing was written there
	s.must(os.Rename(away, s.shelf.folder))
	s.drained()
	if n := s.shelf.missing(before); n != 1 {
		t.Errorf("%d blobs are gone, not 1", n)
	}
	s.found()
}

// stays checks that so many blobs still wait to be deleted however often it is tried.
func (s *side) stays(blobs int64) {
	s.Helper()
	for range 2 {
		s.reclaim()
		if n := s.backlog(); n != blobs {
			s.Errorf("%d blobs wait to be deleted, not %d", n, blobs)
		}
	}
}

// found checks that the store goes on with all that it had.
func (s *side) found() {
	s.Helper()
	s.whole("once the folder was back")
	s.goesOn()
	if text := s.lethe("check", "--checksums"); !strings.Contains(text, "nothing is wrong") {
		s.Errorf("lethe check: %s", text)
	}
}

// moveAll moves all that lies in a folder into another.
func (s *shelf) moveAll(from, to string) {
	s.Helper()
	list, err := os.ReadDir(from)
	for _, e := range list {
		err = errors.Join(err, os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
	}
	if err != nil {
		s.Fatal(err)
	}
}
