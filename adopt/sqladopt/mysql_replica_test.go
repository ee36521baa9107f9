package sqladopt

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/test/servers"
)

// TestMySQLReplicaIsRefused: a replica that may be written to is one all the same.
func TestMySQLReplicaIsRefused(t *testing.T) {
	first, second := servers.NewMariaDB(t, "--log-bin", "--server-id=1"), servers.NewMariaDB(t, "--server-id=2")
	primary, replica := newMySQLPool(t, first.Database(t)), newMySQLPool(t, second.Database(t))
	host, port, _ := strings.Cut(first.Addr, ":")
	user := "'copier'@'127.0.0.1'"
	for _, step := range []struct {
		on   *sql.DB
		text string
	}{
		{primary, "CREATE USER " + user + " IDENTIFIED BY 'copies'"},
		{primary, "GRANT REPLICATION SLAVE ON *.* TO " + user},
		{replica, fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = 'copier', MASTER_PASSWORD = 'copies', MASTER_USE_GTID = slave_pos", host, port)},
		{replica, "START SLAVE"},
	} {
		if _, err := step.on.ExecContext(t.Context(), step.text); err != nil {
			t.Fatalf("%s: %v", step.text, err)
		}
	}
	var at string
	if err := primary.QueryRowContext(t.Context(), "SELECT @@gtid_binlog_pos").Scan(&at); err != nil {
		t.Fatal(err)
	}
	var late int
	if err := replica.QueryRowContext(t.Context(), "SELECT MASTER_GTID_WAIT(?, 60)", at).Scan(&late); err != nil || late != 0 {
		t.Fatalf("the replica does not follow: %d, %v", late, err)
	}
	if _, err := Open(t.Context(), second.Database(t), Options{}); err == nil || !strings.Contains(err.Error(), "replicates from another") {
		t.Errorf("a replica: %v", err)
	}
	if db, err := Open(t.Context(), first.Database(t), Options{}); err != nil {
		t.Errorf("the primary: %v", err)
	} else {
		_ = db.Close()
	}
}
