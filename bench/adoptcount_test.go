package bench_test

import (
	"flag"
	"net/url"

	"github.com/lethe-storage/lethe/bench"
)

var adoptStatements = flag.Bool("adopt.statements", false, "count PostgreSQL's statements in TestAdopt, with its extension pg_stat_statements, which costs a few per cent")

// adoptServer is the settings of a server for so many rows: with 64 MB of memory it would
// wait for its disk, and write whole pages to the log after each checkpoint.
func adoptServer(rows int) (settings []string) {
	if rows >= 10_000 {
		settings = append(settings, "shared_buffers=1GB", "max_wal_size=4GB")
	}
	if *besideTime > 0 {
		settings = append(settings, "min_wal_size=3GB") // keeps what makeLog makes
	}
	if *adoptStatements {
		settings = append(settings, "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all", "pg_stat_statements.track_planning=on")
	}
	return settings
}

// makeLog makes files of the server's log for TestAdoptBeside, as one that has run for a
// day has them.
func (p *pastes) makeLog() {
	p.t.Helper()
	if *besideTime == 0 || *besideLog == 0 {
		return
	}
	for range *besideLog {
		for _, text := range []string{"SELECT pg_logical_emit_message(TRUE, '', '')", "SELECT pg_switch_wal()"} {
			if _, err := p.db.Exec(p.t.Context(), text); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if _, err := p.db.Exec(p.t.Context(), "CHECKPOINT"); err != nil {
		p.t.Fatal(err)
	}
}

// countTrips passes connections to PostgreSQL through a proxy that counts.
func (p *pastes) countTrips() {
	p.t.Helper()
	if !*adoptStatements {
		return
	}
	u, err := url.Parse(p.url)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.trips, err = bench.CountTrips(u.Host); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = p.trips.Close() })
	u.Host = p.trips.Addr()
	p.url = u.String()
}

// count begins to count statements.
func (p *pastes) count() {
	p.t.Helper()
	if !*adoptStatements {
		return
	}
	p.tripsBefore = p.trips.Count()
	for _, text := range []string{"CREATE EXTENSION pg_stat_statements", "SELECT pg_stat_statements_reset()"} {
		if _, err := p.db.Exec(p.t.Context(), text); err != nil {
			p.t.Fatal(err)
		}
	}
}

const (
	countedAll = `SELECT sum(calls) FILTER (WHERE toplevel),
		(sum(rows) FILTER (WHERE query ~* '^(insert|update)') / $1)::float8, (sum(wal_bytes) / $1)::float8, sum(total_exec_time) FILTER (WHERE toplevel) * 1000 / $1::float8, sum(total_plan_time) * 1000 / $1::float8
		FROM pg_stat_statements`
	countedEach = `SELECT calls, rows, total_exec_time * 1000 / $1::float8, (wal_bytes / $1)::float8, total_plan_time * 1000 / $1::float8, left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 110)
		FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 30`
)

// counted logs what was counted, in all and by statement.
func (p *pastes) counted(n int) {
	p.t.Helper()
	if !*adoptStatements {
		return
	}
	var statements int64
	trips := p.trips.Count() - p.tripsBefore
	var written, wal, took, planned float64
	if err := p.db.QueryRow(p.t.Context(), countedAll, n).Scan(&statements, &written, &wal, &took, &planned); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("%d statements in %d round trips; a row: %.2f tuples written, %.0f bytes of WAL, %.1f us of statements and %.1f of planning them", statements, trips, written, wal, took, planned)
	rows, err := p.db.Query(p.t.Context(), countedEach, n)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var calls, touched int64
		var text string
		if err := rows.Scan(&calls, &touched, &took, &wal, &planned, &text); err != nil {
			p.t.Fatal(err)
		}
		p.t.Logf("%6d calls, %8d rows, %5.1f + %4.1f us and %4.0f bytes a row: %s", calls, touched, took, planned, wal, text)
	}
	if err := rows.Err(); err != nil {
		p.t.Fatal(err)
	}
}
