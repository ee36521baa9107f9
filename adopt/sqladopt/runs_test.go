package sqladopt

import (
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/servers"
	"github.com/lethe-storage/lethe/meta"
)

// A run that begins and ends while another asks to begin keeps it from nothing: it asks
// again.
func TestRunThatCameAndWent(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	// The insert conflicts once with what nobody sees afterwards.
	_, err := s.pool.Exec(t.Context(), `CREATE SEQUENCE asked;
		CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF nextval('asked') = 1 THEN RETURN NULL; END IF; RETURN NEW; END $$;
		CREATE TRIGGER conflict BEFORE INSERT ON `+s.schema+`.runs FOR EACH ROW EXECUTE FUNCTION conflict()`)
	if err != nil {
		t.Fatal(err)
	}
	run := meta.Run{ID: lethe.RandomID(1), Routine: "folders", Worker: "a"}
	if b, err := s.db.BeginRun(t.Context(), meta.Solo{Run: run, Stale: 1, Seen: lethe.Forever}); err != nil || !b.OK {
		t.Errorf("got %+v, %v", b, err)
	}
}
