package sqlledger

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// unreset are the columns with a time that a reset of the clock leaves alone, and why.
var unreset = map[string]string{
	"store.created_at":        "shown only",
	"backends.created_at":     "shown only",
	"backends.held_since":     "shown only",
	"buckets.created_at":      "shown only",
	"contents.created_at":     "shown only",
	"parts.created_at":        "shown only",
	"access_keys.created_at":  "shown only",
	"holds.created_at":        "shown only",
	"migrations.applied_at":   "shown only",
	"instances.started_at":    "shown only",
	"walks.saved_at":          "shown only: a walk is given up by when it began, and finished ones are kept by number",
	"walks.finished_at":       "shown only, as saved_at; 0 says that it goes on",
	"usages.taken_at":         "the next count of the bucket removes those taken later",
	"findings.last_at":        "shown only: a finding is forgotten by the walks that saw it",
	"buckets.evict_high":      "a percentage",
	"objects.rule_at":         "the end of an object, which is not moved",
	"trash.ttl_at":            "the end of the object, should it be restored",
	"trash.rule_at":           "the end of the object, should it be restored; set anew then",
	"uploads.ttl_at":          "the end of the object, once it is complete",
	"receipt_seals.since_at":  "sealed: the hash of the segment covers it",
	"receipt_seals.until_at":  "sealed: the hash of the segment covers it",
	"receipt_seals.sealed_at": "sealed: the hash of the segment covers it; the next segment takes it along when it is dropped",
}

var (
	timeColumn = regexp.MustCompile(`(^|_)(at|since|until|high|hour)$`)
	resetTable = regexp.MustCompile(`(?s)^UPDATE (\w+)\s+SET (.*?)\s+WHERE `)
	assigned   = regexp.MustCompile(`(?:^|,)\s*(\w+) = `)
)

// TestResetOfEveryTime: a reset of the clock sets every column with a time, except the
// listed ones.
func TestResetOfEveryTime(t *testing.T) {
	db := openTest(t, Memory, ledger.Options{})
	resetColumns(t, db, `SELECT m.name || '.' || c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`)
}

func TestResetOfEveryTimeOnPostgres(t *testing.T) {
	db := openServerAt(t, servers.Postgres(t), ledger.Options{})
	resetColumns(t, db, `SELECT c.table_name || '.' || c.column_name FROM information_schema.columns c
		JOIN information_schema.tables k ON k.table_schema = c.table_schema AND k.table_name = c.table_name
		WHERE c.table_schema = current_schema() AND k.table_type = 'BASE TABLE'`)
}

func resetColumns(t *testing.T, db *DB, query string) {
	t.Helper()
	reset := map[string]bool{}
	for _, q := range slices.Concat(resetsNow, resetsSoon, []string{resetHigh}) {
		m := resetTable.FindStringSubmatch(q)
		if m == nil {
			t.Fatalf("not understood: %s", q)
		}
		for _, a := range assigned.FindAllStringSubmatch(m[2], -1) {
			reset[m[1]+"."+a[1]] = true
		}
	}
	var columns []string
	err := db.read(t.Context(), "columns", func(tx *tx) (err error) {
		columns, err = all(tx, sqldb.One[string], query)
		return err
	})
	if err != nil || len(columns) < len(unreset) {
		t.Fatal(len(columns), err)
	}
	for _, c := range columns {
		_, name, _ := strings.Cut(c, ".")
		if timeColumn.MatchString(name) && reset[c] == (unreset[c] != "") {
			t.Errorf("%s: a reset of the clock sets it: %v; why it does not: %q", c, reset[c], unreset[c])
		}
	}
	for c := range unreset {
		if !slices.Contains(columns, c) {
			t.Errorf("there is no column %s", c)
		}
	}
}

func TestResetOfWhatWasStampedAhead(t *testing.T) {
	path := filePath(t)
	resetAhead(t, func(o ledger.Options) *DB { return openTest(t, path, o) })
}

func TestResetOfWhatWasStampedAheadOnPostgres(t *testing.T) {
	url := servers.Postgres(t)
	resetAhead(t, func(o ledger.Options) *DB { return openServerAt(t, url, o) })
}

// resetAhead: after the reset nothing that began while the clock was ahead lasts longer than
// it should: neither doubt in a backend, nor an allowance, nor a hold on the trash.
func resetAhead(t *testing.T, open func(ledger.Options) *DB) {
	const ahead = 300 * 24 * time.Hour
	clock := newTestClock()
	right := clock.Now()
	l := &fixture{DB: open(ledger.Options{Clock: clock, ReadGrace: readGrace, LateWindow: lateWindow, Replicas: 2}), t: t, ctx: context.Background(), clock: clock}
	setUp(t, l.DB)
	l.undo()
	trim, kept := l.twoCopies("k", "aa")
	hold := ledger.Hold{Bucket: "b", Scope: ledger.HoldPrefix, Reason: "a matter"}
	clock.Advance(ahead)
	l.doubt("disk")
	l.ok(l.AllowBeyondLimit(l.ctx, ledger.Allowance{Kind: ledger.LimitPurge, Until: l.now().Add(time.Hour), N: -1}))
	_, err := l.AddAdminToken(l.ctx, ledger.AdminToken{ID: "i", Name: "n", Role: "reader", Hash: "h"}, time.Hour)
	l.ok(err)
	l.putTTL("held", "bb", 0)
	l.remove("held")
	_, err = l.AddHold(l.ctx, hold)
	l.ok(err)
	clock.Advance(time.Hour)
	l.purges(0)
	clock.Advance(right.Sub(clock.Now()))
	l.ok(errorOf(l.ResetClock(l.ctx)))

	clock.Advance(time.Minute)
	_, err = l.MarkSound(l.ctx, []lethe.ID{kept}, 0)
	l.ok(err)
	n, err := l.TrimCopies(l.ctx, trim)
	if err != nil || n != 1 {
		t.Errorf("%d copies were trimmed beside one that was read after the reset: %v", n, err)
	}
	limits, err := l.LimitStates(l.ctx)
	if err != nil || len(limits) != 1 || l.now() < limits[0].FreeUntil {
		t.Errorf("what is allowed: %+v, %v", limits, err)
	}
	l.ok(l.ReleaseHold(l.ctx, hold))
	_, err = l.ReturnDeferred(l.ctx, 10)
	l.ok(err)
	l.purges(0)
	clock.Advance(time.Hour)
	l.purges(1)
	token, err := l.AdminToken(l.ctx, "i")
	if err != nil || !token.Expired {
		t.Errorf("a token of an hour: %+v, %v", token, err)
	}
	sound(t, l.DB)
}

// twoCopies stores an object with a copy on "disk" and one on "tape", and returns how
// the latter is trimmed beside the former.
func (l *fixture) twoCopies(key, digest string) (trim ledger.Trim, kept lethe.ID) {
	l.t.Helper()
	_, err := l.AddBackend(l.ctx, ledger.Backend{ID: "tape"})
	l.ok(err)
	l.putTTL(key, digest, 0)
	claimed, err := l.ClaimPlacements(l.ctx, ledger.PlacementClaim{Worker: "w", Limit: 1, Lease: time.Minute})
	l.ok(err)
	first := claimed.Items[0].Blobs[0]
	second, err := l.BeginCopy(l.ctx, ledger.CopyIntent{ID: l.id(), Backend: "tape", Source: first.ID, Fence: claimed.Fence, Lease: time.Minute})
	l.ok(err)
	l.ok(l.CommitCopy(l.ctx, ledger.CopyCommit{Blob: second.ID, Source: first.ID, Digest: digest, Fence: claimed.Fence, Lease: time.Minute}))
	return ledger.Trim{Content: first.ContentID, Blobs: []lethe.ID{second.ID}, Reason: lethe.ReasonSurplus, Fence: claimed.Fence, Lease: time.Minute}, first.ID
}

// doubt holds a backend because its state is older, and releases it.
func (l *fixture) doubt(backend string) {
	l.t.Helper()
	list, err := l.Backends(l.ctx)
	l.ok(err)
	i := slices.IndexFunc(list, func(b ledger.Backend) bool { return b.ID == backend })
	l.ok(l.ChangeHold(l.ctx, list[i], ledger.BackendHold{For: ledger.HeldForBackend, Reason: "an older copy"}))
	l.ok(l.HoldBackend(l.ctx, backend, ""))
}

// purges checks how many entries of the trash are purged now.
func (l *fixture) purges(want int) {
	l.t.Helper()
	before := len(l.trash(ledger.TrashQuery{}))
	_, err := l.Purge(l.ctx, ledger.Batch{Limit: 10})
	l.ok(err)
	if n := before - len(l.trash(ledger.TrashQuery{})); n != want {
		l.t.Errorf("%d entries were purged, not %d", n, want)
	}
}
