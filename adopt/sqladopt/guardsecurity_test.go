package sqladopt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// secured is a collection whose content a is condemned, and whose guard was installed by a role
// without BYPASSRLS that owns the tables of the application.
type secured struct {
	*Collection
	t    *testing.T
	app  *pgx.Conn
	role string
}

func newSecured(t *testing.T) secured {
	t.Helper()
	url := servers.Postgres(t)
	db := openDB(t, url)
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	script(t, db, migrated)
	app, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.WithoutCancel(t.Context())) })
	s := secured{Collection: countedBy(t, db, ""), t: t, app: app, role: "keeper_" + app.Config().Database}
	s.c.Guard = adopt.TriggerGuard
	if err := s.InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.do("CREATE ROLE " + s.role)
	t.Cleanup(func() {
		_, _ = s.app.Exec(context.WithoutCancel(t.Context()), "REASSIGN OWNED BY "+s.role+" TO CURRENT_USER; DROP OWNED BY "+s.role+"; DROP ROLE "+s.role)
	})
	s.do("GRANT ALL ON SCHEMA public, lethe TO " + s.role + "; GRANT ALL ON ALL TABLES IN SCHEMA lethe TO " + s.role)
	for _, what := range []string{"TABLE content", "TABLE pastes", "FUNCTION lethe.guard_pastes_rows()", "FUNCTION lethe.guard_pastes_contents()", "FUNCTION lethe.guard_pastes_look(text)"} {
		s.do("ALTER " + what + " OWNER TO " + s.role)
	}
	s.condemns(1)
	return s
}

func (s secured) do(text string) {
	s.t.Helper()
	if _, err := s.app.Exec(s.t.Context(), text); err != nil {
		s.t.Fatal(text, err)
	}
}

// condemns finds and marks contents.
func (s secured) condemns(want int) {
	s.t.Helper()
	if _, _, err := s.Find(s.t.Context(), "", 9, 0); err != nil {
		s.t.Fatal(err)
	}
	m, err := s.Mark(s.t.Context(), adopt.MarkRequest{Limit: 1, Late: time.Hour})
	if len(m.Contents) != want || want == 0 && !errors.Is(err, adopt.ErrUnguarded) || want > 0 && err != nil {
		s.t.Errorf("marked %+v, %v", m, err)
	}
}

// refusesNames fails if a row may name a content.
func (s secured) refusesNames(content string) {
	s.t.Helper()
	if _, err := s.app.Exec(s.t.Context(), "INSERT INTO pastes VALUES ('new', $1, NULL)", content); err == nil {
		s.t.Errorf("a row names %s", content)
	}
}

// refusesMarks sees that the check says why, and that nothing is marked.
func (s secured) refusesMarks() {
	s.t.Helper()
	s.condemns(0)
	found, err := s.Check(s.t.Context())
	if text := findings(found); err != nil || !adopt.Problems(found) || !strings.Contains(text, "row-level security") {
		s.t.Errorf("%s, %v", text, err)
	}
}

// Marks that row-level security hides from the functions of the guard keep references away all
// the same, and no more are written.
func TestGuardFromWhichMarksAreHidden(t *testing.T) {
	s := newSecured(t)
	s.do("ALTER TABLE lethe.condemned ENABLE ROW LEVEL SECURITY")
	s.refusesNames("a")
	s.refusesMarks()
}

// A content that row-level security hides from them is locked all the same.
func TestGuardFromWhichContentsAreHidden(t *testing.T) {
	s := newSecured(t)
	s.do("ALTER TABLE content ENABLE ROW LEVEL SECURITY")
	s.do("INSERT INTO pastes VALUES ('old', 'b', NULL); DELETE FROM pastes WHERE code = 'old'") // its owner sees it
	s.do("ALTER TABLE content FORCE ROW LEVEL SECURITY")
	other, err := pgx.Connect(t.Context(), s.app.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close(context.WithoutCancel(t.Context())) }()
	if _, err := other.Exec(t.Context(), "BEGIN; SELECT FROM content WHERE hash = 'b' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	s.do("SET lock_timeout = '1s'")
	s.refusesNames("b")
	if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	s.refusesMarks()
}
