package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// needs marks a migration that programs older than the version it names do not support.
// Without the mark they continue to work: they may ignore whatever it adds.
var needs = regexp.MustCompile(`(?m)^-- needs: (\d+)$`)

// ErrOutdated is returned when a newer program has changed the ledger in a way that this one
// does not support.
var ErrOutdated = errors.New("use a newer lethe")

// Understood returns ErrOutdated if this program does not support the ledger's schema any
// more, which another instance may have migrated. A SQLite ledger has one process, and is
// checked when it is opened.
func (t *Tx) Understood() error {
	if t.e.Server == nil {
		return nil
	}
	var have, least int
	if err := t.Row(serverVersion).Scan(&have, &least); err != nil {
		return err
	}
	return understood(have, least, t.e.Server.known)
}

func understood(have, least, known int) error {
	if least <= known {
		return nil
	}
	return fmt.Errorf("the ledger has schema version %d and is understood from version %d on, this lethe knows %d: %w", have, least, known, ErrOutdated)
}

const createMigrations = `CREATE TABLE migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL,
	applied_at BIGINT NOT NULL, min_version BIGINT NOT NULL)`

var (
	recordServerMigration = RegisterFor(sqldb.PostgresName,
		`INSERT INTO migrations (version, name, applied_at, min_version) VALUES (?1, ?2, ?3, ?4)`)
	serverVersion = RegisterFor(sqldb.PostgresName,
		`SELECT coalesce(max(version), 0), coalesce(max(min_version), 0) FROM migrations`)
)

// migrate brings the schema to this version's, all steps in one transaction. A lock of the
// transaction serialises instances that start at once.
func (p *Server) migrate(ctx context.Context) error {
	steps, err := migrations(p.e.o.Schema, sqldb.PostgresName)
	if err != nil {
		return err
	}
	p.known = newest(steps)
	return p.migrateBy(ctx, steps)
}

func (p *Server) migrateBy(ctx context.Context, steps []migration) error {
	s, err := p.Runners[Batch].Session(ctx)
	if err != nil {
		return err
	}
	defer s.Give()
	if err := p.migrateOn(ctx, s, steps); err != nil {
		s.Undo()
		return sqldb.MapServerError(err)
	}
	_, err = s.Script(ctx, "COMMIT")
	return sqldb.MapServerError(err)
}

func (p *Server) migrateOn(ctx context.Context, s *sqldb.Session, steps []migration) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte("lethe migrations " + p.o.Schema))
	begin := fmt.Sprintf("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL search_path = %s; SELECT pg_advisory_xact_lock(%d)",
		sqldb.Quoted(p.o.Schema), int64(h.Sum64()))
	if _, err := s.Script(ctx, begin); err != nil {
		return err
	}
	have, least, err := p.version(ctx, s)
	if err != nil {
		return err
	}
	if have > 0 {
		var first string
		if err := s.AskOne(ctx, firstMigration, nil).Scan(&first); err != nil {
			return err
		}
		if err := begunAs(first, steps); err != nil {
			return err
		}
	}
	if err := understood(have, least, newest(steps)); err != nil {
		return err
	}
	if p.e.o.Existing && have == 0 {
		return fmt.Errorf("the schema %s of this database has no ledger: restore it there first, or name another database", sqldb.Quoted(p.o.Schema))
	}
	for _, m := range after(steps, have) {
		if m.version == 1 {
			least = 1
		}
		if n := needs.FindStringSubmatch(m.text); n != nil {
			least, _ = strconv.Atoi(n[1])
		}
		if err := p.apply(ctx, s, m, least); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return p.identify(ctx, s)
}

// version returns the schema's version, and the least version that programs must know; 0 if
// there is no schema yet.
func (p *Server) version(ctx context.Context, s *sqldb.Session) (have, least int, err error) {
	var schema, tables bool
	err = s.Conn.QueryRowContext(ctx, `SELECT to_regnamespace($1::text) IS NOT NULL, to_regclass($2::text) IS NOT NULL`,
		sqldb.Quoted(p.o.Schema), sqldb.Quoted(p.o.Schema)+".migrations").Scan(&schema, &tables)
	if err != nil {
		return 0, 0, err
	}
	if !schema {
		if _, err := s.Script(ctx, "CREATE SCHEMA "+sqldb.Quoted(p.o.Schema)); err != nil {
			return 0, 0, err
		}
	}
	if !tables {
		return 0, 0, nil
	}
	err = s.AskOne(ctx, serverVersion, nil).Scan(&have, &least)
	return have, least, err
}

// apply runs one step and records it.
func (p *Server) apply(ctx context.Context, s *sqldb.Session, m migration, least int) error {
	now, err := p.wallTime(ctx, s)
	if err != nil {
		return err
	}
	text := m.text
	if m.version == 1 {
		text = createMigrations + ";\n" + text
	}
	if _, err := s.Script(ctx, text); err != nil {
		return err
	}
	if m.version == 1 {
		id, own := lethe.NewID(now, p.e.random), lethe.NewID(now, p.e.random)
		if _, err := s.Execute(ctx, createStore, []any{id, own, now}); err != nil {
			return err
		}
	}
	_, err = s.Execute(ctx, recordServerMigration, []any{m.version, m.name, now, least})
	return err
}

// wallTime returns the clock's time while there is no store yet.
func (p *Server) wallTime(ctx context.Context, s *sqldb.Session) (lethe.Time, error) {
	if p.clock.fake != nil {
		return p.clock.fake.now(), nil
	}
	row, err := s.Script(ctx, "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)")
	if err != nil {
		return 0, err
	}
	us, err := strconv.ParseInt(row[0], 10, 64)
	return lethe.Time(us), err
}

// identify reads the ledger's identity, and sets the clock to at least its highest time.
func (p *Server) identify(ctx context.Context, s *sqldb.Session) error {
	var st ledger.Store
	var high lethe.Time
	if err := s.AskOne(ctx, getStore, nil).Scan(&st.ID, &st.DB, &st.CreatedAt, &high); err != nil {
		return fmt.Errorf("read the store's identity: %w", err)
	}
	if _, err := lethe.ParseID(string(st.ID)); err != nil {
		return fmt.Errorf("%w: the store's id: %w", lethe.ErrCorrupt, err)
	}
	var boot string
	var offset lethe.Time
	if err := s.AskOne(ctx, getBoot, nil).Scan(&boot, &offset); err != nil {
		return fmt.Errorf("read when the machine started: %w", err)
	}
	p.clock.jump.Resume(boot, offset)
	p.clock.saved.Store(int64(high))
	raise(&p.clock.high, int64(high))
	if p.clock.fake != nil {
		raise(&p.clock.fake.high, int64(high))
	}
	return nil
}
