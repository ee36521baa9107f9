package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// typedKeys are types of keys of contents, each with a key.
var typedKeys = map[string]string{
	"text":                            "x",
	`text COLLATE "C"`:                "x",
	`text COLLATE "ucs_basic"`:        "ü/'\"\\x",
	`varchar(64) COLLATE "und-x-icu"`: "Straße",
	"uuid":                            "2f1e0f8e-3b1c-4f6a-9f0f-0d6a4f2a7b11",
	"bigint":                          "-42",
	"bytea":                           `\xdeadbeef`,
}

// guardKinds returns applications at every isolation, with and without foreign
// keys and counts.
func guardKinds() (out []kind) {
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		for _, loose := range []bool{false, true} {
			for _, uncounted := range []bool{false, true} {
				out = append(out, kind{Variant: adopttest.Variant{Uncounted: uncounted}, loose: loose, isolation: isolation})
			}
		}
	}
	return out
}

// keyKinds returns those of guards, and applications with every type of key.
func keyKinds() []kind {
	out := guardKinds()
	for key := range typedKeys {
		for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
			out = append(out, kind{key: key, isolation: isolation})
		}
	}
	return out
}

func (k kind) String() string {
	return fmt.Sprintf("%s, %s, foreign key %v, counted %v", k.isolation, k.key, !k.loose, !k.Uncounted)
}

// content returns a key of the kind's type.
func (k kind) content() string {
	if k.key == "" {
		return "x"
	}
	return typedKeys[k.key]
}

// begun is a transaction of the application with its snapshot taken.
type begun struct {
	pgx.Tx
	s *site
}

func (s *site) began() begun {
	s.t.Helper()
	tx, err := s.pool.BeginTx(s.t.Context(), pgx.TxOptions{IsoLevel: s.kind.isolation})
	if err == nil {
		_, err = tx.Exec(s.t.Context(), "SELECT 1 FROM pastes") // takes the snapshot
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return begun{tx, s}
}

// refused reports whether the guard refused what fn did, or its commit.
func (b begun) refused(what string, fn func(ctx context.Context, tx pgx.Tx) error) {
	b.s.t.Helper()
	ctx := b.s.t.Context()
	err := fn(ctx, b.Tx)
	if err == nil {
		err = b.Commit(ctx)
	}
	if err = refusal(err); !errors.Is(err, adopttest.ErrRefused) {
		b.s.t.Errorf("%s: %v, want ErrRefused", what, err)
	}
	_ = b.Rollback(ctx) // has ended already
}

// takes counts a reference and inserts a row of it; refers only inserts the row.
func (s *site) takes(content string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		if err := s.take(ctx, tx, content); err != nil {
			return err
		}
		return s.insert(ctx, tx, adopttest.Row{Key: "late", Content: content, In: adopttest.Never})
	}
}

func (s *site) refers(content string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		return s.insert(ctx, tx, adopttest.Row{Key: "late", Content: content, In: adopttest.Never})
	}
}

// mark condemns what is due, which has to be the content.
func (s *site) mark(content string) adopt.Marked {
	s.t.Helper()
	m, err := s.Mark(s.t.Context(), adopt.MarkRequest{Limit: 9, Late: adopt.DefaultGrace.Late})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(m.Contents) != 1 || m.Contents[0].Content != content {
		s.t.Fatalf("marked %+v", m)
	}
	return m
}

// lapse expires the only reference to a content, and its grace.
func (s *site) lapse(content string) {
	s.t.Helper()
	ctx := s.t.Context()
	err := s.Put(ctx, adopttest.Row{Key: "old", Content: content, In: -time.Second})
	if err == nil {
		var c adopt.Claim
		if c, err = s.Claim(ctx, 9); err == nil {
			_, err = s.Settle(ctx, c, 0)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.Pass(adopt.DefaultGrace.Unreferenced)
}

// No transaction refers to a content from the mark to its end, whenever it
// began.
func TestGuard(t *testing.T) {
	database := servers.Postgres(t)
	for _, k := range keyKinds() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, database, k)
			content, ctx := k.content(), t.Context()
			s.lapse(content)
			taking, referring, after := s.began(), s.began(), s.began()
			m := s.mark(content)
			taking.refused("a reference of one who began before the mark", s.takes(content))
			referring.refused("a row of one who began before the mark", s.refers(content))
			s.began().refused("a reference of one who began after the mark", s.takes(content))
			s.began().refused("a row of one who began after the mark", s.refers(content))
			during := s.began()
			confirmed, err := s.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: content}}, adopt.DefaultGrace)
			if err != nil || confirmed.Gone != 1 {
				t.Fatalf("confirmed %+v, %v", confirmed, err)
			}
			after.refused("a content that is stored again by one who began before the mark", s.takes(content))
			during.refused("a content that is stored again by one who began before it was gone", s.takes(content))
			s.began().refused("a content that is stored again", s.takes(content))
			if k.loose {
				s.began().refused("a row of a content that is not there", s.refers(content))
			}
			s.Pass(adopt.DefaultGrace.LongestWrite)
			if n, err := s.Unmark(ctx, 9); err != nil || n != 1 {
				t.Fatalf("ended %d marks, %v", n, err)
			}
			if err := s.Put(ctx, adopttest.Row{Key: "late", Content: content, In: adopttest.Never}); err != nil {
				t.Errorf("once the mark is over: %v", err)
			}
			var left int
			if err := s.pool.QueryRow(ctx, "SELECT count(*) FROM "+s.schema+".condemned").Scan(&left); err != nil || left != 0 {
				t.Errorf("%d rows are left in condemned, %v", left, err)
			}
		})
	}
}

// An uncommitted reference to a content prevents its mark.
func TestGuardKeepsMarksAway(t *testing.T) {
	database := servers.Postgres(t)
	for _, k := range guardKinds() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, database, k)
			content, ctx := k.content(), t.Context()
			s.lapse(content)
			for what, do := range map[string]func(context.Context, pgx.Tx) error{"takes": s.takes(content), "refers": s.refers(content)} {
				tx := s.began()
				if err := do(ctx, tx); err != nil {
					t.Fatal(what, err)
				}
				m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: adopt.DefaultGrace.Late})
				if err != nil || len(m.Contents) != 0 || m.Busy != 1 {
					t.Errorf("while it %s: marked %+v, %v", what, m, err)
				}
				_ = tx.Rollback(ctx)
				s.Pass(time.Minute)
			}
			s.mark(content)
		})
	}
}

// The application's user needs no rights in Lethe's schema.
func TestGuardOfUserWithoutRights(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	ctx := t.Context()
	role := "plain_" + s.schema
	app := "app" + strings.TrimPrefix(s.schema, "lethe")
	if _, err := s.pool.Exec(ctx, fmt.Sprintf(`CREATE ROLE %s; GRANT USAGE ON SCHEMA %s TO %s; GRANT ALL ON ALL TABLES IN SCHEMA %s TO %s`, role, app, role, app, role)); err != nil {
		t.Fatal(err)
	}
	s.lapse("x")
	s.mark("x")
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		s.kind.isolation = isolation
		as := func(do func(context.Context, pgx.Tx) error) func(context.Context, pgx.Tx) error {
			return func(ctx context.Context, tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "SET LOCAL ROLE "+role); err != nil {
					return err
				}
				return do(ctx, tx)
			}
		}
		s.began().refused("a reference", as(s.takes("x")))
		s.began().refused("a row", as(s.refers("x")))
		tx := s.began()
		if err := as(s.takes("y "+string(isolation)))(ctx, tx); err != nil {
			t.Errorf("a reference to another content: %v", err)
		}
		_ = tx.Rollback(ctx)
	}
	if _, err := s.pool.Exec(ctx, fmt.Sprintf(`DROP OWNED BY %s; DROP ROLE %s`, role, role)); err != nil {
		t.Fatal(err)
	}
}

// Without the guard of this very description nothing is marked.
func TestMarkNeedsGuard(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	ctx := t.Context()
	s.lapse("x")
	unguarded := func(what string) {
		t.Helper()
		if m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); !errors.Is(err, adopt.ErrUnguarded) {
			t.Errorf("%s: marked %+v, %v", what, m, err)
		}
	}
	if err := s.RemoveGuard(ctx); err != nil {
		t.Fatal(err)
	}
	unguarded("without a guard")
	if err := s.InstallGuard(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.pool.Exec(ctx, "ALTER TABLE content DISABLE TRIGGER USER"); err != nil {
		t.Fatal(err)
	}
	unguarded("with a trigger that is disabled")
	other := s.kind.description()
	other.Contents.Count = ""
	s.Collection = s.open(other) // its guard counts nothing
	s.Collection = s.reopened(s.kind.description())
	unguarded("with the guard of another description")
	if err := s.InstallGuard(ctx); err != nil {
		t.Fatal(err)
	}
	s.mark("x")
}

// The guard cannot be removed while an object may yet be deleted.
func TestRemoveGuardWaits(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	ctx := t.Context()
	s.lapse("x")
	m := s.mark("x")
	stays := func(what string) {
		t.Helper()
		if err := s.RemoveGuard(ctx); err == nil || !strings.Contains(err.Error(), "1 content of pastes is being deleted") {
			t.Errorf("%s: %v", what, err)
		}
		if yes, err := s.Guarded(ctx); err != nil || !yes {
			t.Errorf("%s: guarded %v, %v", what, yes, err)
		}
	}
	stays("a content is marked")
	if _, err := s.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: "x"}}, adopt.DefaultGrace); err != nil {
		t.Fatal(err)
	}
	stays("its object is gone since just now")
	s.Pass(adopt.DefaultGrace.LongestWrite)
	if err := s.RemoveGuard(ctx); err != nil {
		t.Errorf("once the mark is over: %v", err)
	}
}
