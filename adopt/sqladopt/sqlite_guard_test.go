package sqladopt

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
)

// liteKeys are types of keys of contents, each with a key in the application's
// and in Lethe's form.
var liteKeys = map[string]struct {
	value any
	key   string
}{
	"text":              {"ü/'\"\\x", "ü/'\"\\x"},
	"text /* NUL */":    {"a\x00b", "a\x00b"},
	"text /* 007 */":    {"007", "007"},
	"varchar(64)":       {"x", "x"},
	"uuid":              {"2f1e0f8e-3b1c-4f6a-9f0f-0d6a4f2a7b11", "2f1e0f8e-3b1c-4f6a-9f0f-0d6a4f2a7b11"},
	"integer":           {-42, "-42"},
	"bigint /* zero */": {0, "0"},
	"blob":              {[]byte{0xde, 0xad, 0x00, 0xef}, "dead00ef"},
}

// No transaction refers to a content from the mark to its end, whatever its key.
func TestSQLiteGuard(t *testing.T) {
	for kindOfKey, key := range liteKeys {
		for _, loose := range []bool{false, true} {
			t.Run(fmt.Sprint(kindOfKey, loose), func(t *testing.T) {
				t.Parallel()
				guardsKey(t, newLiteSite(t, liteKind{kind: kind{key: kindOfKey, loose: loose}}), key.value, key.key)
			})
		}
	}
}

func guardsKey(t *testing.T, s *liteSite, value any, key string) {
	ctx := t.Context()
	put := func(code string, in time.Duration) error {
		return s.do(ctx, func(tx *sql.Tx) error {
			if err := s.take(ctx, tx, value); err != nil {
				return err
			}
			return liteOne(ctx, tx, "INSERT INTO pastes (code, hash, expires_at) VALUES (?, ?, ?)", code, value, s.end(in))
		})
	}
	refer := func(insert string) error {
		return s.do(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, insert, value)
			return err
		})
	}
	if err := put("old", -time.Second); err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(ctx, 9)
	if err != nil {
		t.Fatal(err)
	}
	if settled, err := s.Settle(ctx, claim, 0); err != nil || settled.Unreferenced != 1 {
		t.Fatalf("settled %+v, %v", settled, err)
	}
	s.Pass(adopt.DefaultGrace.Unreferenced)
	m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: adopt.DefaultGrace.Late})
	if err != nil || len(m.Contents) != 1 || m.Contents[0] != (adopt.Condemned{Content: key, Object: "content/" + key}) {
		t.Fatalf("marked %+v, %v", m, err)
	}
	refused := func(what string) {
		t.Helper()
		for insert, err := range map[string]error{
			"take": put("late", adopttest.Never), "refer": refer("INSERT INTO pastes (code, hash) VALUES ('late', ?)"),
			"ignore": refer("INSERT OR IGNORE INTO pastes (code, hash) VALUES ('late', ?)"), "replace": refer("REPLACE INTO pastes (code, hash) VALUES ('late', ?)"),
			"update": refer("UPDATE pastes SET hash = ? WHERE code = 'other'"),
		} {
			if !errors.Is(err, adopttest.ErrRefused) && (!s.kind.loose && strings.Contains(err.Error(), "FOREIGN KEY")) == false {
				t.Errorf("%s: %s: %v, want ErrRefused", what, insert, err)
			}
		}
	}
	liteExec(t, s.app, "INSERT INTO pastes (code) VALUES ('other')")
	refused("marked")
	confirmed, err := s.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: key}}, adopt.DefaultGrace)
	if err != nil || confirmed.Gone != 1 {
		t.Fatalf("confirmed %+v, %v", confirmed, err)
	}
	refused("gone")
	s.Pass(adopt.DefaultGrace.LongestWrite)
	if n, err := s.Unmark(ctx, 9); err != nil || n != 1 {
		t.Fatalf("ended %d marks, %v", n, err)
	}
	if err := put("late", adopttest.Never); err != nil {
		t.Errorf("once the mark is over: %v", err)
	}
}

// Without the guard of this very description nothing is marked, and it cannot
// be removed while an object may yet be deleted.
func TestSQLiteMarkNeedsGuard(t *testing.T) {
	s := newLiteSite(t, liteKind{})
	ctx := t.Context()
	if err := s.Put(ctx, adopttest.Row{Key: "old", Content: "x", In: -time.Second}); err != nil {
		t.Fatal(err)
	}
	s.expire(ctx)
	s.Pass(adopt.DefaultGrace.Unreferenced)
	for what, change := range map[string]string{
		"a trigger less":    "DROP TRIGGER lethe_pastes_rows",
		"a trigger changed": "DROP TRIGGER lethe_pastes_rows; CREATE TRIGGER lethe_pastes_rows AFTER INSERT ON pastes WHEN FALSE BEGIN SELECT 1; END",
		"a table less":      "DROP TABLE pins; ALTER TABLE pastes RENAME TO other; ALTER TABLE other RENAME TO pastes; DROP TRIGGER lethe_pastes_renamed",
	} {
		liteExec(t, s.app, change)
		if m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); !errors.Is(err, adopt.ErrUnguarded) {
			t.Errorf("%s: marked %+v, %v", what, m, err)
		}
		if err := s.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
	}
	anew, err := s.db.Collection(ctx, s.name, s.c) // a table was renamed
	if err != nil {
		t.Fatal(err)
	}
	if m, err := anew.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); err != nil || len(m.Contents) != 1 {
		t.Fatalf("marked %+v, %v", m, err)
	}
	if err := s.RemoveGuard(ctx); err == nil || !strings.Contains(err.Error(), "1 content of pastes is being deleted") {
		t.Errorf("removed: %v", err)
	}
	if yes, err := s.Guarded(ctx); err != nil || !yes {
		t.Errorf("guarded %v, %v", yes, err)
	}
}
