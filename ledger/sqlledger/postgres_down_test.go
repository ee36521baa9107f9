package sqlledger

import (
	"errors"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestServerKilled: while PostgreSQL is down every call reports it. Afterwards everything
// works again, with all acknowledged writes.
func TestServerKilled(t *testing.T) {
	s := servers.NewPostgres(t)
	db := openServerAt(t, s.Database(), ledger.Options{})
	setUp(t, db)
	for i := range 20 { // connections that are idle when the server dies
		go db.Bucket(t.Context(), "b")
		mustPut(t, db, "before", hexSum(string(rune('a'+i))))
	}
	before := mustPut(t, db, "before", "digest")
	s.Kill()
	if _, err := put(db, "during", "digest"); !errors.Is(err, lethe.ErrUnavailable) && !errors.Is(err, lethe.ErrUnknownOutcome) {
		t.Errorf("a write without a server: %v", err)
	}
	if _, err := db.Resolve(t.Context(), "b", "before"); !errors.Is(err, lethe.ErrUnavailable) {
		t.Errorf("a read without a server: %v", err)
	}
	s.Restart()
	r, err := db.Resolve(t.Context(), "b", "before")
	if err != nil || r.Object.ID != before.Object.ID {
		t.Errorf("after the restart: %+v, %v", r.Object, err)
	}
	mustPut(t, db, "after", "digest")
	s.Kill()
	s.Restart()
	mustPut(t, db, "after", "digest") // every idle connection is dead
	sound(t, db)
}
