package sqladopt

import (
	"errors"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

func TestMerges(t *testing.T) {
	for query, want := range map[string]bool{
		"SELECT a FROM t UNION ALL SELECT b FROM t":                false,
		"SELECT a FROM t UNION\n all SELECT b FROM t":              false,
		"SELECT a FROM t WHERE x = 'DISTINCT' -- GROUP BY":         false,
		"SELECT `group by`, \"union\" FROM t /* distinct */":       false,
		"SELECT a FROM distinctions":                               false,
		"SELECT a FROM t UNION ALL SELECT b FROM t UNION SELECT 1": true,
		"SELECT distinct a FROM t":                                 true,
		"SELECT a FROM t GROUP  BY a":                              true,
		"SELECT a FROM t EXCEPT SELECT b FROM t":                   true,
		"SELECT /*! DISTINCT */ a FROM t":                          true,
		`SELECT DISTINCT a FROM t WHERE b = 'it\'s'`:               true,
	} {
		if got := merges(query); got != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}

// refusesFolding opens collections of keys and of folders by queries.
func refusesFolding(t *testing.T, db *DB, queries map[string]bool) {
	t.Helper()
	ctx := t.Context()
	for query, want := range queries {
		_, err := db.Keys(ctx, "files", adopt.Collection{Prefix: "files/", Keys: &adopt.KeySpec{Query: query}})
		if errors.Is(err, errFolds) != want || !want && err != nil {
			t.Errorf("keys of %s: %v, want refused: %v", query, err, want)
		}
		_, err = db.Folders(ctx, "files", adopt.Collection{Prefix: "files/", Folders: &adopt.FolderSpec{Depth: 1, Live: adopt.LiveSpec{Query: query}}})
		if errors.Is(err, errFolds) != want || !want && err != nil {
			t.Errorf("folders of %s: %v, want refused: %v", query, err, want)
		}
	}
}

// filesTable is a table with keys of the database's collation.
const filesTable = `CREATE TABLE files (id integer PRIMARY KEY, object_key varchar(200), other varchar(200))`

// A query in which the database takes two keys for one would hide a live key.
func TestQueriesThatFoldKeysOnMariaDB(t *testing.T) {
	db := (&mysqlSite{t: t, url: servers.MariaDB(t)}).database()
	script(t, db, filesTable)
	script(t, db, "CREATE TABLE exact (object_key varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, padded varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)")
	script(t, db, `CREATE VIEW merged AS SELECT DISTINCT object_key FROM files; CREATE VIEW united AS SELECT object_key FROM merged UNION SELECT other FROM files;
		CREATE VIEW apart AS SELECT DISTINCT CAST(CONVERT(object_key USING utf8mb4) AS BINARY) AS object_key FROM files`)
	refusesFolding(t, db, map[string]bool{
		"SELECT object_key FROM files UNION SELECT other FROM files":                   true,
		"SELECT DISTINCT object_key FROM files":                                        true,
		"SELECT object_key FROM files GROUP BY object_key":                             true,
		"SELECT DISTINCT concat('files/', object_key) FROM files":                      true,
		"SELECT DISTINCT padded FROM exact":                                            true,
		"SELECT object_key FROM files UNION ALL SELECT other FROM files":               false,
		"SELECT object_key FROM merged":                                                true,
		"SELECT object_key FROM `united`":                                              true,
		"SELECT object_key FROM apart":                                                 false,
		"SELECT object_key FROM files WHERE other <> 'it''s \\\\ {x}'":                 false,
		"SELECT DISTINCT CAST(object_key AS BINARY) FROM files":                        false,
		"SELECT DISTINCT CAST(CONVERT(object_key USING utf8mb4) AS BINARY) FROM files": false,
		"SELECT DISTINCT object_key FROM exact":                                        false,
		"SELECT DISTINCT id FROM files":                                                false,
	})
}

func TestQueriesThatFoldKeysOnSQLite(t *testing.T) {
	db, _ := liteDB(t, "CREATE TABLE files (id integer PRIMARY KEY, object_key text COLLATE NOCASE, other text)")
	refusesFolding(t, db, map[string]bool{
		"SELECT object_key FROM files":                               true,
		"SELECT object_key FROM files UNION SELECT other FROM files": true,
		"SELECT DISTINCT object_key COLLATE BINARY FROM files":       false,
		"SELECT other FROM files UNION SELECT other FROM files":      false,
		"SELECT DISTINCT 'files/' || object_key FROM files":          false,
		"SELECT DISTINCT id FROM files":                              false,
	})
	script(t, db, "INSERT INTO files (object_key) VALUES ('Ab3'), ('aB3')")
	f, err := db.Folders(t.Context(), "files", adopt.Collection{Prefix: "files/", Folders: &adopt.FolderSpec{Live: adopt.LiveSpec{Table: "files", Name: "{object_key}"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = f.read(t.Context(), "look", func(t *tx) error {
		live, err := f.again(t, []string{"Ab3", "aB3", "AB3"}, 0)
		if err == nil && (len(live) != 2 || live["AB3"]) {
			err = errors.New("the folders of files are not told apart")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestQueriesThatFoldKeysOnPostgres(t *testing.T) {
	db := openDB(t, servers.Postgres(t))
	script(t, db, filesTable)
	script(t, db, `CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`)
	script(t, db, `ALTER TABLE files ADD object_name text COLLATE folding, ADD u uuid, ADD fixed char(9), ADD b bytea, ADD n numeric`)
	script(t, db, `CREATE EXTENSION citext; ALTER TABLE files ADD c citext; CREATE VIEW merged AS SELECT DISTINCT c FROM files`)
	refusesFolding(t, db, map[string]bool{
		"SELECT object_name FROM files":                              true,
		"SELECT object_key FROM files UNION SELECT other FROM files": false,
		`SELECT DISTINCT object_name COLLATE "C" FROM files`:         false,
		"SELECT DISTINCT id FROM files":                              false,
		"SELECT u FROM files":                                        false,
		"SELECT DISTINCT c FROM files":                               true,
		"SELECT c FROM merged":                                       true,
		"SELECT DISTINCT n FROM files":                               true,
		`SELECT DISTINCT c::text COLLATE "C" FROM files`:             false,
		"SELECT DISTINCT c::text FROM files":                         false,
		"SELECT DISTINCT fixed FROM files":                           false,
		"SELECT b FROM files":                                        false,
		"SELECT 'files/' || u FROM files":                            false,
	})
}
