package sqladopt

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/servers"
)

// Statements are prepared where connections are the program's own. A pooler gives each
// transaction another connection, where they are not, or are others'.
func TestPooler(t *testing.T) {
	url := servers.Postgres(t)
	conn := connect(t, url, kind{}.tables())
	for _, tc := range []struct {
		name, url string
		prepared  bool
	}{{"direct", url, true}, {"asked not to", url + "&default_query_exec_mode=exec", false}, {"pooler", servers.PgBouncer(t, url), false}} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := conn.Exec(t.Context(), `TRUNCATE content, pastes, pins;
				INSERT INTO content SELECT 'c' || n, 1 FROM generate_series(1, 80) n;
				INSERT INTO pastes (code, hash, expires_at) SELECT 'p' || n, 'c' || n, now() - interval '1 hour' FROM generate_series(1, 80) n`); err != nil {
				t.Fatal(err)
			}
			c, err := openDB(t, tc.url).Collection(t.Context(), "pastes", kind{}.description())
			if err != nil {
				t.Fatal(err)
			}
			var workers sync.WaitGroup
			for range 4 {
				workers.Go(func() {
					if err := expireAll(t, c); err != nil {
						t.Error(err)
					}
				})
			}
			workers.Wait()
			var left, prepared int64
			err = errors.Join(conn.QueryRow(t.Context(), "SELECT count(*) FROM pastes").Scan(&left),
				c.read(t.Context(), "count statements", func(tx *tx) error {
					return tx.row("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%pastes%'").Scan(&prepared)
				}))
			if err != nil || left != 0 || prepared > 0 != tc.prepared {
				t.Errorf("%d rows are left, %d statements are prepared, %v; want none left, and prepared ones: %v", left, prepared, err, tc.prepared)
			}
		})
	}
}

// expireAll removes due rows by few at a time, until there are none.
func expireAll(t *testing.T, c *Collection) error {
	for {
		claim, err := c.Claim(t.Context(), 4)
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		if len(claim.Rows) == 0 {
			return nil
		}
		if _, err := c.Settle(t.Context(), claim, 10*time.Second); err != nil {
			return fmt.Errorf("settle: %w", err)
		}
	}
}
