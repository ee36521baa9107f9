package sqlledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// schemas opens ledgers in one database, each in a schema of its own. Making one
// takes longer than most tests, so that of a ledger that was closed is emptied
// and used again.
type schemas struct {
	url   string // of the ledgers
	admin *pgxpool.Pool

	mu   sync.Mutex
	made int
	free []string
}

// onServer opens ledgers by the URL, which may be a pooler's; direct is the
// database's own.
func onServer(t testing.TB, url, direct string) ledgertest.Open {
	t.Helper()
	admin, err := pgxpool.New(context.Background(), direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	s := &schemas{url: url, admin: admin}
	return s.open
}

// pooled is a ledger that gives its schema back.
type pooled struct {
	*sqlledger.DB
	t      testing.TB
	s      *schemas
	schema string
}

// Close implements io.Closer.
func (p *pooled) Close() error {
	sameViews(p.t, p.DB)
	err := p.DB.Close()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.free = append(p.s.free, p.schema)
	return err
}

func (s *schemas) open(t testing.TB, o ledger.Options) ledgertest.Ledger {
	t.Helper()
	at := sqlledger.PostgresOptions{Schema: s.take(t), Requests: 2, Routines: 1}
	db, err := sqlledger.OpenPostgres(context.Background(), s.url, o, sqlledger.Postgres(at))
	if err != nil {
		t.Fatal(err)
	}
	return &pooled{db, t, s, at.Schema}
}

// twice opens ledgers whose transactions run twice. Fences and numbers of the server go on then.
func twice(open ledgertest.Open) ledgertest.Open {
	return func(t testing.TB, o ledger.Options) ledgertest.Ledger {
		l := open(t, o)
		l.(*pooled).RunTwice()
		return l
	}
}

func (s *schemas) take(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) == 0 {
		s.made++
		return fmt.Sprintf("Lethe %d", s.made)
	}
	name := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if _, err := s.admin.Exec(context.Background(), fmt.Sprintf(emptySchema, name)); err != nil {
		t.Fatal(err)
	}
	return name
}

const emptySchema = `DO $$ DECLARE name text; BEGIN
	SET LOCAL session_replication_role = replica;
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '%[1]s' AND tablename NOT IN ('store', 'migrations') LOOP
		EXECUTE format('DELETE FROM "%[1]s".%%I', name);
	END LOOP;
	UPDATE "%[1]s".store SET clock_high = 0, rules_revision = 1;
	FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = '%[1]s' LOOP
		PERFORM setval(format('"%[1]s".%%I', name), 1, false);
	END LOOP;
END $$`
