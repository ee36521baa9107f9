package sqladopt

import (
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// A hold on a row keeps it, however its key is written: MariaDB writes 1 as 0000000001 where a
// column is ZEROFILL.
func TestHoldsOfZerofill(t *testing.T) {
	for what, status := range map[string]*adopt.Status{"taken": nil, "claimed": {Column: "state", Live: "LIVE", Claimed: "BUSY"}} {
		for _, key := range []string{"1", "0000000001"} {
			t.Run(what+" "+key, func(t *testing.T) {
				db := (&mysqlSite{t: t, url: servers.MariaDB(t)}).database()
				if err := db.Install(t.Context()); err != nil {
					t.Fatal(err)
				}
				script(t, db, `CREATE TABLE pastes (code int(10) unsigned zerofill NOT NULL PRIMARY KEY, expires_at bigint, state varchar(10) NOT NULL, since bigint);
					INSERT INTO pastes VALUES (1, 1000000000, 'LIVE', NULL)`)
				c, err := db.Collection(t.Context(), "pastes", pastesOf(status))
				if err != nil {
					t.Fatal(err)
				}
				hold := adopt.Hold{Scope: adopt.HoldRow, Key: key, Reason: "a court asks for it", By: "legal"}
				if _, _, err := c.AddHold(t.Context(), hold); err != nil {
					t.Fatal(err)
				}
				if status == nil {
					if out, err := c.Take(t.Context(), 9, 0); err != nil || out.Gone != 0 {
						t.Errorf("took %+v, %v", out, err)
					}
				} else if claim, err := c.Claim(t.Context(), 9); err != nil || len(claim.Rows) != 0 {
					t.Errorf("claimed %+v, %v", claim, err)
				}
				if err := c.ReleaseHold(t.Context(), hold); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A row names a content whose key is written with other zeros: its count goes down.
func TestContentsOfZerofill(t *testing.T) {
	for what, s := range map[string]*mysqlSite{
		"of contents": newMySQLSite(t, servers.MariaDB(t), mysqlKind{key: "INT ZEROFILL", named: "INT UNSIGNED"}),
		"of rows":     newMySQLSite(t, servers.MariaDB(t), mysqlKind{key: "INT UNSIGNED", named: "INT ZEROFILL"}),
		"of both":     newMySQLSite(t, servers.MariaDB(t), mysqlKind{key: "INT(8) ZEROFILL", named: "INT(6) ZEROFILL"}),
	} {
		s.must("INSERT INTO content VALUES (7, 1), (8, 2)")
		s.must("INSERT INTO pastes (code, hash, expires_at) VALUES ('one', 7, UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE), ('two', 8, UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE)")
		if got := s.expire(); got.Gone != 2 || got.Unreferenced != 1 || len(got.Drifted) != 0 {
			t.Errorf("%s: settled %+v", what, got)
		}
		if drifts, _, err := s.Recount(t.Context(), "", 10, RepairAll); err != nil || len(drifts) != 1 {
			t.Errorf("%s: drifts %+v %v", what, drifts, err) // of 8, whose other row there never was
		}
	}
}
