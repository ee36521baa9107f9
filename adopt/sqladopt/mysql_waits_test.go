package sqladopt

import (
	"context"
	"database/sql"
	"testing"
)

// Uploads of different contents do not wait for each other: what the guard inserts to look
// for a mark locks no gap of an index.
func TestMySQLUploadsDoNotWaitForEachOther(t *testing.T) {
	s := newMySQLSite(t, hastyMariaDB(t).Database(t), mysqlKind{})
	for _, isolation := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		t.Run(isolation.String(), func(t *testing.T) {
			upload := func(content string) {
				t.Helper()
				conn, err := s.pool.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = conn.Close() })
				tx, err := conn.BeginTx(t.Context(), &sql.TxOptions{Isolation: isolation})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = tx.Rollback() })
				for _, text := range []string{
					"SET SESSION innodb_lock_wait_timeout = 1",
					"INSERT INTO content VALUES ('" + content + "', 1)",
					"INSERT INTO pastes (code, hash) VALUES ('of " + content + "', '" + content + "')",
				} {
					if _, err := tx.ExecContext(context.WithoutCancel(t.Context()), text); err != nil {
						t.Fatalf("%s, while other uploads are open: %v", text, err)
					}
				}
			}
			for _, content := range []string{"h5", "h7", "h6"} {
				upload(content)
			}
		})
	}
}
