package sqlledger

import (
	"errors"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

func TestAdminTokens(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { adminTokens(t, newLedger(t).DB) })
	t.Run("postgres", func(t *testing.T) { adminTokens(t, openServer(t, ledger.Options{})) })
}

func adminTokens(t *testing.T, db *DB) {
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := db.AddAdminToken(ctx, ledger.AdminToken{ID: "1", Name: "watcher", Role: "read", Hash: "aa", CreatedBy: "root"}, 0)
	ok(err)
	if first.CreatedAt == 0 || first.ExpiresAt != 0 {
		t.Errorf("%+v", first)
	}
	for _, k := range []ledger.AdminToken{
		{ID: "2", Name: "watcher", Role: "read", Hash: "bb"}, {ID: "1", Name: "other", Role: "read", Hash: "bb"},
	} {
		if _, err := db.AddAdminToken(ctx, k, 0); !errors.Is(err, ledger.ErrTokenExists) {
			t.Errorf("%+v: %v", k, err)
		}
	}
	if _, err := db.AddAdminToken(ctx, ledger.AdminToken{ID: "3", Name: "empty", Role: "read"}, 0); err == nil {
		t.Error("a token without a digest was taken")
	}
	brief, err := db.AddAdminToken(ctx, ledger.AdminToken{ID: "0", Name: "brief", Role: "destroy", Hash: "cc"}, time.Microsecond)
	ok(err)
	if brief.ExpiresAt != brief.CreatedAt.Add(time.Microsecond) {
		t.Errorf("%+v", brief)
	}
	// The ledger's clock goes on with each transaction that writes.
	_, err = db.AddAdminToken(ctx, ledger.AdminToken{ID: "4", Name: "last", Role: "read", Hash: "dd"}, time.Hour)
	ok(err)
	list, err := db.AdminTokens(ctx)
	ok(err)
	if len(list) != 3 || list[0].Name != "brief" || list[1].Name != "last" || list[2] != first || list[1].Expired {
		t.Errorf("%+v", list)
	}
	got, err := db.AdminToken(ctx, "1")
	if err != nil || got != first {
		t.Errorf("%+v %v", got, err)
	}
	ok(db.RemoveAdminToken(ctx, "watcher"))
	if err := db.RemoveAdminToken(ctx, "watcher"); !errors.Is(err, ledger.ErrNoSuchToken) {
		t.Errorf("removed twice: %v", err)
	}
	if _, err := db.AdminToken(ctx, "1"); !errors.Is(err, ledger.ErrNoSuchToken) {
		t.Errorf("found after it was removed: %v", err)
	}
}

// TestAdminTokensExpire: a token is expired from its instant on.
func TestAdminTokensExpire(t *testing.T) {
	l := newLedger(t)
	_, err := l.AddAdminToken(l.ctx, ledger.AdminToken{ID: "1", Name: "a", Role: "read", Hash: "aa"}, time.Hour)
	l.ok(err)
	l.clock.Advance(time.Hour - time.Microsecond)
	if k, err := l.AdminToken(l.ctx, "1"); err != nil || k.Expired {
		t.Errorf("just before: %+v %v", k, err)
	}
	l.clock.Advance(time.Microsecond)
	if k, err := l.AdminToken(l.ctx, "1"); err != nil || !k.Expired {
		t.Errorf("at its time: %+v %v", k, err)
	}
}
