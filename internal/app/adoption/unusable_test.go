package adoption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// A collection whose table does not exist, or is dropped later, does not stop
// others.
func TestUnusableCollections(t *testing.T) {
	gateway := servers.VersityGW(t)
	p := place{gateway, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store := p.open(t)
	p.adopt(t, Options{}, func(*adopt.Collection) {})
	d, err := describe(p.env(), func(*adopt.Collection) {})
	if err != nil {
		t.Fatal(err)
	}
	rows := adopt.Rows{Table: "nowhere", Key: "id", End: "ends_at"}
	d.Collections["ghosts"] = adopt.Collection{Mode: adopt.Reclaim, Rows: rows}
	d.Collections["links"] = adopt.Collection{Mode: adopt.Reclaim, Bucket: "main", Prefix: "links/", Kind: adopt.OfKeys, Keys: &adopt.KeySpec{Query: "SELECT no_column FROM pastes"}}
	a, err := Open(t.Context(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := a.Check(t.Context())
	if err != nil || !adopt.Problems(found["ghosts"]) || !adopt.Problems(found["links"]) || adopt.Problems(found["pastes"]) {
		t.Errorf("a check finds %v, %v", found, err)
	}
	if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: 10, TTL: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	counts, err := a.Loop.Once(t.Context(), nil)
	if err != nil || counts["expire pastes"]["rows"] != 10 {
		t.Errorf("a run did %v, %v", counts, err)
	}
	backlogs, err := a.Backlogs(t.Context())
	if err != nil || len(backlogs) != 3 {
		t.Fatalf("%v, %v", backlogs, err)
	}
	for _, b := range backlogs {
		if known := b.Problem == ""; known != (b.Collection == "pastes") {
			t.Errorf("of %s it is known: %q", b.Collection, b.Problem)
		}
	}
	if idle := a.Idle(); !slices.Equal(idle, []string{"ghosts", "links"}) {
		t.Errorf("%v are not worked on", idle)
	}
	if err := a.Unknown(a.Description.Names(), "links/x"); !strings.Contains(err.Error(), "no_column") || !strings.Contains(err.Error(), "belong to collection links") {
		t.Errorf("of a key that a collection may have that could not be asked: %v", err)
	}
	if err := a.Remove(t.Context(), false); err == nil || !strings.Contains(err.Error(), "--forget") {
		t.Errorf("all was removed, though objects may be left: %v", err)
	}
	delete(d.Collections, "pastes")
	none, err := Open(t.Context(), d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = none.Close() })
	if err := none.Run(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("nothing can be used, and it runs: %v", err)
	}
}

// A query that fails is a problem of its collection, and does not stop others.
func TestQueriesThatFail(t *testing.T) {
	f := newFiles(t, func(s *adopt.KeySpec) { s.Query = "SELECT object_key || 1 / (id - id) FROM files" })
	f.put("a")
	f.row("a")
	if err := f.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := f.Check(t.Context())
	if err != nil || !strings.Contains(fmt.Sprint(found["files"]), "division by zero") || !adopt.Problems(found["files"]) {
		t.Errorf("a check finds %v, %v", found, err)
	}
	if idle := f.Idle(); !slices.Equal(idle, []string{"files"}) {
		t.Errorf("%v are not worked on", idle)
	}
}

// A collection whose table is created later is noticed while others are worked
// on.
func TestUnusableIsTakenUp(t *testing.T) {
	s := newLiteSite(t)
	s.Description.Collections["late"] = adopt.Collection{Mode: adopt.Reclaim, Rows: adopt.Rows{Table: "late", Key: "id", End: "ends", Zone: "UTC"}}
	a, err := Open(t.Context(), s.Description, Options{Recheck: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	ran := make(chan error, 1)
	go func() { ran <- a.Run(context.WithoutCancel(t.Context()), "") }()
	select {
	case err := <-ran:
		t.Fatalf("it ended while the table is not there: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := s.app.Exec(`CREATE TABLE late (id integer PRIMARY KEY, ends text)`); err != nil {
		t.Fatal(err)
	}
	if err := <-ran; !errors.Is(err, ErrReopen) {
		t.Errorf("once the table is there it ends with %v", err)
	}
}

// Tables that change while a process runs: what it had begun by its statements is undone, and
// opened again it works on.
func TestChangedTablesAreOpenedAgain(t *testing.T) {
	s := newLiteSite(t)
	if _, err := s.app.Exec(`ALTER TABLE pastes ADD COLUMN title text`); err != nil {
		t.Fatal(err)
	}
	if counts, err := s.Loop.Once(t.Context(), nil); !errors.Is(err, adopt.ErrChanged) {
		t.Errorf("it did %v, %v", counts, err)
	}
	s.o.Recheck = time.Millisecond
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // or it would run on
	defer stop()
	if err := s.Run(ctx, ""); !errors.Is(err, ErrReopen) {
		t.Errorf("it ended with %v", err)
	}
	if keys := keysIn(t, s.gateway.Client(), s.bucket); !slices.Contains(keys, "content/once") {
		t.Errorf("an object is gone: %q", keys)
	}
	a, err := Open(t.Context(), s.Description, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if counts, err := a.Loop.Once(t.Context(), nil); err != nil || counts["expire pastes"]["rows"] != 2 {
		t.Errorf("opened again it did %v, %v", counts, err)
	}
}

// A table that changes and is gone when the description is opened again, as during a migration:
// the process tries on, and works once the table is back. One that never ran fails at once.
func TestRunOutlastsAMigration(t *testing.T) {
	s := newLiteSite(t)
	delete(s.Description.Collections, "pictures") // what is left does not fit
	whole := *s.Description
	change := func(statement string) {
		t.Helper()
		if _, err := s.app.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	o := Options{Recheck: time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // or it would run on
	defer stop()
	opened := 0
	run := func() error {
		d := whole
		a, err := Open(ctx, &d, o)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = a.Close() })
		switch opened++; opened {
		case 1:
			change("ALTER TABLE pastes ADD COLUMN title text")
			if counts, err := a.Loop.Once(ctx, nil); !errors.Is(err, adopt.ErrChanged) {
				t.Errorf("it did %v, %v", counts, err)
			}
			err := a.Run(ctx, "")
			change("ALTER TABLE pastes RENAME TO hidden")
			return err
		case 2:
			err := a.Run(ctx, "")
			change("ALTER TABLE hidden RENAME TO pastes")
			return err
		}
		if counts, err := a.Loop.Once(ctx, nil); err != nil || counts["expire pastes"]["rows"] != 2 {
			t.Errorf("opened again it did %v, %v", counts, err)
		}
		return nil
	}
	if err := RunOn(ctx, o, run); err != nil || opened != 3 || !strings.Contains(log.String(), "there is no table pastes") {
		t.Errorf("after %d openings it ended with %v:\n%s", opened, err, log.String())
	}
	change("ALTER TABLE pastes RENAME TO hidden")
	opened = 1 // as if it had not run before
	if err := RunOn(ctx, o, run); err == nil || opened != 2 || !strings.Contains(err.Error(), "there is no table pastes") {
		t.Errorf("the first opening of a process: %d, %v", opened, err)
	}
}

// Tables that change each time that a description is opened: between two openings an interval
// of rechecks passes. A signal ends the wait.
func TestChangesAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		a := &Adoption{o: Options{Recheck: time.Minute}.filled(), changed: make(chan struct{}, 1)}
		a.changed <- struct{}{}
		began := a.o.Clock.Now()
		again := a.awaitChange(ctx)
		if waited := a.o.Clock.Now().Sub(began); !again || waited != time.Minute {
			t.Errorf("%v after %s", again, waited)
		}
		a.changed <- struct{}{}
		time.AfterFunc(time.Second, stop)
		if a.awaitChange(ctx) {
			t.Error("it is opened again after the end")
		}
		if err := RunOn(ctx, a.o, failing(ErrReopen, io.ErrUnexpectedEOF)); err != nil {
			t.Errorf("ended while it tries again: %v", err)
		}
	})
}

// failing returns a function that returns the errors one after another.
func failing(errs ...error) func() error {
	return func() error {
		err := errs[0]
		errs = errs[1:]
		return err
	}
}
