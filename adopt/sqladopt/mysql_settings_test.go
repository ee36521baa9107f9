package sqladopt

import (
	"slices"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// Names are those of the bucket, in UTF-8, also where the server does not let clients choose
// their character set.
func TestMySQLNamesOfAnotherCharacterSet(t *testing.T) {
	for _, set := range []string{"latin1", "utf8mb3"} {
		t.Run(set, func(t *testing.T) {
			server := servers.NewMariaDB(t, "--skip-character-set-client-handshake", "--character-set-server="+set)
			url := server.Database(t)
			s := &mysqlSite{t: t, pool: newMySQLPool(t, url), url: url}
			s.must("CREATE TABLE files (id BIGINT AUTO_INCREMENT PRIMARY KEY, object_key VARCHAR(200) NOT NULL, ends DATETIME(6) NULL, KEY (object_key)) CHARACTER SET utf8mb4")
			s.Collection = s.open(adopt.Collection{
				Mode: adopt.Reclaim, Guard: adopt.TriggerGuard,
				Rows: adopt.Rows{Table: "files", Key: "id", End: "ends", Zone: "UTC", Objects: []string{"{object_key}"}},
			})
			// "files/é" twice, and "files/😀".
			s.must("INSERT INTO files (object_key) VALUES (CONVERT(X'66696C65732FC3A9' USING utf8mb4)), (CONVERT(X'66696C65732FC3A9' USING utf8mb4)), (CONVERT(X'66696C65732FF09F9880' USING utf8mb4))")
			s.must("DELETE FROM files WHERE id IN (1, 3)")
			if keys := condemnedKeys(s.mark()); !slices.Equal(keys, []string{"files/😀=files/😀"}) {
				t.Errorf("condemned are %q", keys)
			}
			rows, err := s.db.Keys(t.Context(), "files", adopt.Collection{Prefix: "files/", Keys: &adopt.KeySpec{Query: "SELECT object_key FROM files"}})
			if err != nil {
				t.Fatal(err)
			}
			seen, err := rows.See(t.Context(), adopt.Seeing{Orphans: []adopt.OrphanObject{{Key: "files/é"}, {Key: "files/😀"}}, Most: 2})
			if err != nil || !slices.Equal(seen.Condemned, []string{"files/😀"}) {
				t.Errorf("orphans are %+v, %v", seen, err)
			}
		})
	}
}

// No answer is cut short, whatever limit the server sets for others.
func TestMySQLAnswersAreWhole(t *testing.T) {
	server := servers.NewMariaDB(t)
	url := server.Database(t)
	s := &mysqlSite{t: t, pool: newMySQLPool(t, url), url: url}
	s.must("CREATE TABLE files (id BIGINT AUTO_INCREMENT PRIMARY KEY, object_key VARCHAR(200) NOT NULL, ends DATETIME(6) NULL, KEY (object_key))")
	s.must("INSERT INTO files (object_key, ends) VALUES ('files/a', '2020-01-01'), ('files/b', '2020-01-01'), ('files/c', '2020-01-01')")
	s.must("SET GLOBAL sql_select_limit = 1")
	s.Collection = s.open(adopt.Collection{
		Mode: adopt.Reclaim, Guard: adopt.TriggerGuard,
		Rows: adopt.Rows{Table: "files", Key: "id", End: "ends", Zone: "UTC", Objects: []string{"{object_key}"}},
	})
	if out, err := s.Take(t.Context(), 10, 0); err != nil || out.Gone != 3 {
		t.Errorf("took %+v, %v", out, err)
	}
	if keys := condemnedKeys(s.mark()); len(keys) != 3 {
		t.Errorf("condemned are %q", keys)
	}
}
