package adoption

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Without columns for a claim rows are removed under their locks: locked ones
// stay, softly deleted ones go after their retention, and copies with them.
// Without counts references are looked up.
func TestRowsWithoutAStatus(t *testing.T) {
	s := newSite(t)
	c := s.Description.Collections["pastes"]
	c.Rows.Status, c.Rows.Initiated, c.Rows.End, c.Rows.Keep = nil, "", "created_at", adopt.Duration(time.Hour)
	contents := *c.Contents
	contents.Count = ""
	c.Contents = &contents
	s.again(c)
	var codes []string
	for range 4 {
		p, err := s.store.Create(t.Context(), []byte("shared"), 0)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, p.Code)
	}
	if _, _, err := s.store.Read(t.Context(), codes[0]); err != nil { // which fills the cache
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), s.Description.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	// Three of them were "deleted" two hours ago; one of them is locked.
	if _, err := conn.Exec(t.Context(), `UPDATE pastes SET created_at = now() - interval '2 hours' WHERE short_code <> $1`, codes[3]); err != nil {
		t.Fatal(err)
	}
	held, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), `SELECT 1 FROM pastes WHERE short_code = $1 FOR UPDATE`, codes[2]); err != nil {
		t.Fatal(err)
	}
	s.removes(2, 0)
	options, err := redis.ParseURL(s.Description.Redis)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if n, err := client.Exists(t.Context(), "paste:"+codes[0]).Result(); err != nil || n != 0 {
		t.Errorf("%d copies are left, %v", n, err)
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.removes(1, 0)
	if _, err := conn.Exec(t.Context(), `DELETE FROM pastes`); err != nil {
		t.Fatal(err)
	}
	s.removes(0, 1)
}

// A plan that is applied drops the copies of rows that went, also once more, though no run
// may follow.
func TestAppliedPlansDropCopies(t *testing.T) {
	s := newSite(t)
	c := s.Description.Collections["pastes"]
	again := adopt.Duration(time.Second)
	c.Mode, c.Rows.Status, c.Rows.Initiated, c.Grace.CacheAgain = adopt.Report, nil, "", &again
	s.again(c)
	p, err := s.store.Create(t.Context(), []byte("cached"), time.Second)
	if err == nil {
		_, _, err = s.store.Read(t.Context(), p.Code) // which fills the cache
	}
	if err == nil {
		err = lethe.Sleep(t.Context(), time.Second) // its end
	}
	if err != nil {
		t.Fatal(err)
	}
	file, items := planOf(t, s.Adoption)
	applied, err := s.Apply(t.Context(), file, ApplyOptions{Reported: true})
	if err != nil || items != 1 || len(applied) != 1 || applied[0].Counts["rows"] != 1 {
		t.Fatalf("applied %+v of %d, %v", applied, items, err)
	}
	options, err := redis.ParseURL(s.Description.Redis)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if n, err := client.Exists(t.Context(), "paste:"+p.Code).Result(); err != nil || n != 0 {
		t.Errorf("%d copies are left, %v", n, err)
	}
	if next, _, _, err := s.Collection("pastes").NextCopies(t.Context()); err != nil || next != 0 {
		t.Errorf("copies are to be dropped at %s, %v", next, err)
	}
}

// again opens the adoption again, with another description of its collection.
func (s *site) again(c adopt.Collection) {
	s.t.Helper()
	d := *s.Description
	d.Collections = map[string]adopt.Collection{"pastes": c}
	a, err := Open(s.t.Context(), &d, Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = a.Close() })
	s.Adoption = a
	if err := a.Collection("pastes").InstallGuard(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// removes checks how many rows and objects a run removes.
func (s *site) removes(rows, objects int64) {
	s.t.Helper()
	counts, err := s.Loop.Once(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if r, o := counts["expire pastes"]["rows"], counts["clean pastes"]["objects"]; r != rows || o != objects {
		s.t.Errorf("%d rows and %d objects went, want %d and %d: %v", r, o, rows, objects, counts)
	}
}
