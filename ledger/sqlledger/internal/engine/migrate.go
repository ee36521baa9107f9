package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// application marks a SQLite file as a ledger ("LETH").
	application = 0x4c455448
	// minSQLite is the first version without the corruption that two connections
	// could cause when the write-ahead log was reset.
	minSQLite = "3.51.3"
)

// migration is one step of the schema.
type migration struct {
	version int
	name    string
	text    string
}

// migrations lists the steps of a dialect in order. Numbers ascend and may have gaps.
func migrations(schema fs.FS, dialect string) ([]migration, error) {
	names, err := fs.Glob(schema, path.Join("migrations", dialect, "*.sql"))
	if err != nil {
		return nil, err
	}
	var out []migration
	for _, name := range names {
		version, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.Atoi(version)
		if err != nil || n <= newest(out) {
			return nil, fmt.Errorf("migration %s does not follow number %d", name, newest(out))
		}
		text, err := fs.ReadFile(schema, name)
		if err != nil {
			return nil, err
		}
		out = append(out, migration{n, path.Base(name), string(text)})
	}
	return out, nil
}

// newest returns the version that the steps lead to.
func newest(steps []migration) int {
	if len(steps) == 0 {
		return 0
	}
	return steps[len(steps)-1].version
}

// after returns the steps that a schema of version have needs.
func after(steps []migration, have int) []migration {
	i := slices.IndexFunc(steps, func(m migration) bool { return m.version > have })
	if i < 0 {
		return nil
	}
	return steps[i:]
}

// begunAs fails for a ledger whose first step has another name than ours: it was made before
// the first release, by steps that no longer exist.
func begunAs(first string, steps []migration) error {
	if first == steps[0].name {
		return nil
	}
	return fmt.Errorf("the ledger was made before the first release (by %s), which this lethe cannot read: copy the objects out with the lethe that made it, and start a new ledger on empty backends", first)
}

// migrate brings the file to this version's schema and reads its identity. It changes
// nothing before it has checked that the file is a ledger.
func (f *File) migrate(ctx context.Context, s *sqldb.Session) error {
	if err := checkSQLite(ctx, s); err != nil {
		return err
	}
	steps, err := migrations(f.e.o.Schema, f.e.Dialect.Name)
	if err != nil {
		return err
	}
	return f.migrateBy(ctx, s, steps)
}

func (f *File) migrateBy(ctx context.Context, s *sqldb.Session, steps []migration) error {
	have, err := schemaVersion(ctx, s)
	if err != nil {
		return err
	}
	if have > 0 {
		if err := f.resume(ctx, s, have, steps); err != nil {
			return err
		}
	}
	if err := setPragmas(ctx, s, f.writing()); err != nil {
		return err
	}
	for _, m := range after(steps, have) {
		if err := f.apply(ctx, s, m); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, sqldb.MapError(err))
		}
	}
	return f.identify(ctx, s)
}

// resume checks that an existing ledger is supported, and restores its clock before anything
// reads the time.
func (f *File) resume(ctx context.Context, s *sqldb.Session, have int, steps []migration) error {
	var first string
	if err := s.Conn.QueryRowContext(ctx, firstMigration).Scan(&first); err != nil {
		return sqldb.MapError(err)
	}
	if err := begunAs(first, steps); err != nil {
		return err
	}
	if have > newest(steps) {
		return fmt.Errorf("the ledger has schema version %d, this lethe supports up to %d: use a newer lethe", have, newest(steps))
	}
	if err := f.identify(ctx, s); err != nil {
		return err
	}
	var id string
	var offset lethe.Time
	if err := s.Conn.QueryRowContext(ctx, getBoot).Scan(&id, &offset); err != nil {
		return sqldb.MapError(err)
	}
	f.clock.jump.Resume(id, offset)
	return nil
}

func checkSQLite(ctx context.Context, s *sqldb.Session) error {
	var have string
	if err := s.Conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&have); err != nil {
		return sqldb.MapError(err)
	}
	if olderVersion(have, minSQLite) {
		return fmt.Errorf("this lethe was built with SQLite %s: it needs at least %s", have, minSQLite)
	}
	return nil
}

// olderVersion compares versions of the form 3.51.3.
func olderVersion(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		p, _ := strconv.Atoi(x[i])
		if q, _ := strconv.Atoi(y[i]); p != q {
			return p < q
		}
	}
	return len(x) < len(y)
}

// schemaVersion returns the version of the file's schema, 0 for an empty file. It fails for
// a file that another program has written.
func schemaVersion(ctx context.Context, s *sqldb.Session) (int, error) {
	var app, tables, version int
	err := errors.Join(
		s.Conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app),
		s.Conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	switch {
	case err != nil:
		return 0, sqldb.MapError(err)
	case tables == 0 && app == 0:
		return 0, nil
	case app != application:
		return 0, errors.New("the file is a SQLite database, but not a ledger of lethe: choose another path")
	}
	err = s.Conn.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&version)
	return version, sqldb.MapError(err)
}

// apply runs one step in a transaction and records it.
func (f *File) apply(ctx context.Context, s *sqldb.Session, m migration) error {
	now := f.clock.now()
	t, err := s.Conn.BeginTx(ctx, &sql.TxOptions{})
	if err != nil {
		return err
	}
	defer t.Rollback()
	texts := []string{m.text}
	if m.version == 1 {
		texts = []string{
			fmt.Sprintf("PRAGMA application_id = %d", application),
			"CREATE TABLE migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
			m.text,
		}
	}
	for _, text := range texts {
		if _, err := t.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if m.version == 1 {
		id, own := lethe.NewID(now, f.e.random), lethe.NewID(now, f.e.random)
		if _, err := t.ExecContext(ctx, createStore, id, own, int64(now)); err != nil {
			return err
		}
	}
	if _, err := t.ExecContext(ctx, recordMigration, m.version, m.name, int64(now)); err != nil {
		return err
	}
	return t.Commit()
}

var (
	recordMigration = Register(`INSERT INTO migrations (version, name, applied_at) VALUES (?1, ?2, ?3)`)
	firstMigration  = Register(`SELECT coalesce(min(name), '') FROM migrations WHERE version = 1`)
	createStore     = Register(`INSERT INTO store (one, id, db, created_at, clock_high, fence) VALUES (1, ?1, ?2, ?3, ?3, 0)`)
)

var getStore = Register(`SELECT id, db, created_at, clock_high FROM store WHERE one = 1`)

// identify reads the file's identity, and sets the clock to at least its highest time.
func (f *File) identify(ctx context.Context, s *sqldb.Session) error {
	var st ledger.Store
	var high lethe.Time
	err := s.Conn.QueryRowContext(ctx, getStore).Scan(&st.ID, &st.DB, &st.CreatedAt, &high)
	if err != nil {
		return fmt.Errorf("read the store's identity: %w", sqldb.MapError(err))
	}
	if _, err := lethe.ParseID(string(st.ID)); err != nil {
		return fmt.Errorf("%w: the store's id: %w", lethe.ErrCorrupt, err)
	}
	f.clock.high.Store(int64(max(high, lethe.Time(f.clock.high.Load()))))
	f.clock.saved = high
	return nil
}
