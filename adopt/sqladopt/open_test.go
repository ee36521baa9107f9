package sqladopt

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/test/servers"
)

// Tables of another version are reported, and stay unchanged.
func TestInstallOverAnotherVersion(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	for version, want := range map[int]string{1: "begin anew", 2: "begin anew", schemaVersion: "", schemaVersion + 1: "use a newer lethe"} {
		if _, err := s.pool.Exec(t.Context(), "UPDATE "+s.schema+".adoption SET version = $1", version); err != nil {
			t.Fatal(err)
		}
		err := s.db.Install(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("over version %d: %v, want %q", version, err, want)
		}
		var have int
		if err := s.pool.QueryRow(t.Context(), "SELECT version FROM "+s.schema+".adoption").Scan(&have); err != nil || have != version {
			t.Errorf("version %d became %d, %v", version, have, err)
		}
	}
}
