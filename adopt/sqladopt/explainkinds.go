package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	wording "github.com/lethe-storage/lethe/internal/words"
)

const (
	explainFolder = `SELECT state, seen_at, marked_at, purged FROM {lethe}folders WHERE collection = ?1 AND name = ?2`
	explainOrphan = `SELECT size, since_at, allowed_at FROM {lethe}orphans WHERE collection = ?1 AND "key" = ?2`
)

// installed reports whether Lethe's tables exist: explaining changes nothing,
// and works before they do.
func (s scope) installed(t *tx) (bool, error) { return s.db.engine.has(t, "receipts") }

// recorded runs a query on Lethe's tables. It returns nothing before they
// exist.
func recorded[T any](t *tx, s scope, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	if installed, err := s.installed(t); err != nil || !installed {
		return nil, err
	}
	return all(t, scan, query, args...)
}

// Explain returns why a folder still exists, or when it was deleted. A folder
// is named below the prefix, or by its whole key.
func (f *Folders) Explain(ctx context.Context, key string, retention time.Duration) (facts []Fact, err error) {
	name := strings.TrimSuffix(strings.TrimPrefix(key, f.prefix), "/")
	err = f.read(ctx, "explain a folder", func(t *tx) error {
		facts = nil
		live, err := f.again(t, []string{name}, 0)
		if err != nil {
			return err
		}
		if live[name] {
			facts = append(facts, Fact{What: "a row names folder " + adopt.Brief(name) + ": it lives"})
		}
		known, err := recorded(t, f.scope, func(r *sql.Rows) (Fact, error) { return scanFolderFact(r, name, retention) }, explainFolder, f.name, name)
		if err != nil {
			return err
		}
		facts = append(facts, known...)
		gone, err := f.receipts(t, name, false)
		if facts = append(facts, gone...); err != nil || len(facts) == 0 {
			return err
		}
		holds, err := t.holds(f.db.engine, f.name)
		if h := holds.Folder(f.prefix + name + "/"); h != nil {
			facts = append(facts, Fact{What: h.Why()})
		}
		return err
	})
	return facts, err
}

func scanFolderFact(r *sql.Rows, name string, retention time.Duration) (f Fact, err error) {
	var state adopt.FolderState
	var seen, marked lethe.Time
	var purged int64
	if err := r.Scan(&state, &seen, &marked, &purged); err != nil {
		return f, err
	}
	switch state {
	case adopt.FolderSeen:
		f.What = fmt.Sprintf("no row named folder %s at %s: a run that finds it so again marks it", name, seen)
	case adopt.FolderMarking:
		f.What = "no row names folder " + name + ": its marker is being put"
	case adopt.FolderMarked:
		f.What = fmt.Sprintf("no row names folder %s; it was marked at %s, and may be purged from %s on", name, marked, marked.Add(retention))
	case adopt.FolderPurging:
		f.What = fmt.Sprintf("folder %s is being purged: %s gone", name, wording.Plural(purged, "of its objects is", "of its objects are"))
	}
	return f, nil
}

// Explain returns why an object still exists, or when it was deleted, by its
// whole key.
func (k *Keys) Explain(ctx context.Context, key string, retention time.Duration) (facts []Fact, err error) {
	err = k.read(ctx, "explain an object", func(t *tx) error {
		facts = nil
		named, err := all(t, text, namedKeys, sqldb.JSON([]string{key}))
		if err != nil {
			return err
		}
		if slices.Contains(named, key) {
			facts = append(facts, Fact{What: "a row names object " + adopt.Brief(key) + ": it stays"})
		}
		known, err := recorded(t, k.scope, func(r *sql.Rows) (Fact, error) { return scanOrphanFact(r, key, retention) }, explainOrphan, k.name, key)
		if err != nil {
			return err
		}
		facts = append(facts, known...)
		gone, err := k.receipts(t, key, false)
		if facts = append(facts, gone...); err != nil || len(facts) == 0 {
			return err
		}
		holds, err := t.holds(k.db.engine, k.name)
		if h := holds.Object(key); h != nil {
			facts = append(facts, Fact{What: h.Why()})
		}
		return err
	})
	return facts, err
}

func scanOrphanFact(r *sql.Rows, key string, retention time.Duration) (f Fact, err error) {
	var size int64
	var since, allowed lethe.Time
	if err := r.Scan(&size, &since, &allowed); err != nil {
		return f, err
	}
	f.What = fmt.Sprintf("no row named object %s (%s) since %s: it may be deleted from %s on", adopt.Brief(key), wording.Plural(size, "byte", "bytes"), since, since.Add(retention))
	if allowed != 0 {
		f.What += fmt.Sprintf("; its delete was allowed at %s", allowed)
	}
	return f, nil
}
