package bench_test

import "flag"

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
		settings = append(settings, "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=all")
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

// count begins to count statements.
func (p *pastes) count() {
	p.t.Helper()
	if !*adoptStatements {
		return
	}
	for _, text := range []string{"CREATE EXTENSION pg_stat_statements", "SELECT pg_stat_statements_reset()"} {
		if _, err := p.db.Exec(p.t.Context(), text); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Statements that begin a transaction are eight in one round trip.
const (
	countedAll = `SELECT sum(calls) FILTER (WHERE toplevel), sum(calls) FILTER (WHERE toplevel) - 7 * coalesce(sum(calls) FILTER (WHERE query LIKE 'BEGIN ISOLATION%'), 0),
		(sum(rows) FILTER (WHERE query ~* '^(insert|update)') / $1)::float8, (sum(wal_bytes) / $1)::float8, sum(total_exec_time) * 1000 / $1::float8
		FROM pg_stat_statements`
	countedEach = `SELECT calls, rows, total_exec_time * 1000 / $1::float8, (wal_bytes / $1)::float8, left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 110)
		FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 20`
)

// counted logs what was counted, in all and by statement.
func (p *pastes) counted(n int) {
	p.t.Helper()
	if !*adoptStatements {
		return
	}
	var statements, trips int64
	var written, wal, took float64
	if err := p.db.QueryRow(p.t.Context(), countedAll, n).Scan(&statements, &trips, &written, &wal, &took); err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("%d statements in %d round trips; a row: %.2f tuples written, %.0f bytes of WAL, %.0f us of statements", statements, trips, written, wal, took)
	rows, err := p.db.Query(p.t.Context(), countedEach, n)
	if err != nil {
		p.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var calls, touched int64
		var text string
		if err := rows.Scan(&calls, &touched, &took, &wal, &text); err != nil {
			p.t.Fatal(err)
		}
		p.t.Logf("%6d calls, %8d rows, %5.1f us and %4.0f bytes a row: %s", calls, touched, took, wal, text)
	}
	if err := rows.Err(); err != nil {
		p.t.Fatal(err)
	}
}
