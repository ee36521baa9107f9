package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// poor is a user without rights in an application's database.
type poor struct {
	*DB
	t *testing.T
	// do runs a statement as the owner of everything.
	do func(text string)
	// anew opens the database again: rights on a whole one take effect then.
	anew func() *DB
}

func poorOnPostgres(t *testing.T) poor {
	s := newSite(t, servers.Postgres(t), kind{})
	role := fmt.Sprintf("poor_%d_%s", os.Getpid(), s.schema)
	do := func(text string) {
		t.Helper()
		if _, err := s.pool.Exec(context.WithoutCancel(t.Context()), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	do("CREATE ROLE " + role + " LOGIN")
	t.Cleanup(func() { _, _ = s.pool.Exec(context.Background(), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role) })
	do("CREATE ROLE " + role + "_owner")
	t.Cleanup(func() {
		_, _ = s.pool.Exec(context.Background(), "REASSIGN OWNED BY "+role+"_owner TO CURRENT_USER; DROP OWNED BY "+role+"_owner; DROP ROLE "+role+"_owner")
	})
	if err := s.RemoveGuard(t.Context()); err != nil { // which would be another installation's
		t.Fatal(err)
	}
	do("GRANT ALL ON SCHEMA " + strings.Replace(s.schema, "lethe", "app", 1) + " TO " + role + "_owner")
	do("ALTER TABLE pastes OWNER TO " + role + "_owner; ALTER TABLE content OWNER TO " + role + "_owner")
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	to.User = url.User(role)
	return openPoor(t, to.String(), "poor_"+s.schema, do)
}

func poorOnMariaDB(t *testing.T, k mysqlKind) poor {
	s := newMySQLSite(t, servers.MariaDB(t), k)
	s.must("DROP USER IF EXISTS 'po''or'@'127.0.0.1'")
	s.must("CREATE USER 'po''or'@'127.0.0.1' IDENTIFIED BY 'topsecret'")
	s.must("CREATE TABLE nothing (id INT)")
	s.must("GRANT SELECT ON nothing TO 'po''or'@'127.0.0.1'")
	return openPoor(t, strings.Replace(s.url, "lethe:lethetestsecret", "po'or:topsecret", 1), "poor", func(text string) { t.Helper(); s.must(text) })
}

func openPoor(t *testing.T, url, schema string, do func(string)) poor {
	t.Helper()
	anew := func() *DB {
		db, err := Open(t.Context(), url, Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	return poor{anew(), t, do, anew}
}

// granted runs the statements in an error.
func (p *poor) granted(err error) {
	p.t.Helper()
	var denied *Denied
	if !errors.As(err, &denied) {
		p.t.Fatalf("%v names no statements", err)
	}
	for _, text := range denied.Grants {
		if !strings.Contains(err.Error(), text) {
			p.t.Errorf("%v does not name %q", err, text)
		}
		p.do(text)
	}
	p.DB = p.anew()
}

// An error lists all missing grants at once: after them the user can do
// everything.
func TestRightsAreAskedForOnce(t *testing.T) {
	for name, c := range map[string]struct {
		start func(*testing.T) poor
		d     adopt.Collection
	}{
		"PostgreSQL": {poorOnPostgres, kind{}.description()},
		"MariaDB":    {func(t *testing.T) poor { return poorOnMariaDB(t, mysqlKind{}) }, mysqlKind{}.description()},
	} {
		t.Run(name, func(t *testing.T) {
			zero := adopt.Duration(0)
			p, second := c.start(t), adopt.Duration(time.Second)
			c.d.Grace.Unreferenced, c.d.Grace.LongestWrite = &zero, &second
			_, err := p.Collection(t.Context(), "pastes", c.d)
			if err == nil {
				t.Fatal("a user without rights reads the tables")
			}
			p.granted(err)
			rows, err := p.Collection(t.Context(), "pastes", c.d)
			if err != nil {
				t.Fatal(err)
			}
			found, err := rows.Check(t.Context())
			for _, f := range found {
				if f.Problem && f.Do != "lethe adopt guard install" {
					t.Errorf("with all that was asked for: %+v", f)
				}
			}
			for what, err := range map[string]error{"check": err, "tables": p.Install(t.Context()), "guard": rows.InstallGuard(t.Context())} {
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			p.works(rows)
			p.leaves(rows)
		})
	}
}

// works removes an expired paste, with its content.
func (p poor) works(rows *Collection) {
	p.t.Helper()
	p.do("INSERT INTO content VALUES ('h', 1)")
	p.do("INSERT INTO pastes (code, hash, expires_at) VALUES ('a', 'h', '2020-01-01 00:00:00')")
	claim, err := rows.Claim(p.t.Context(), 10)
	if err != nil || len(claim.Rows) != 1 {
		p.t.Fatalf("claimed %+v, %v", claim, err)
	}
	if got, err := rows.Settle(p.t.Context(), claim, 0); err != nil || got.Gone != 1 {
		p.t.Fatalf("settled %+v, %v", got, err)
	}
	if _, _, err := rows.Find(p.t.Context(), "", 10, 0); err != nil {
		p.t.Fatal(err)
	}
	m, err := rows.Mark(p.t.Context(), adopt.MarkRequest{Limit: 10})
	if err != nil || len(m.Contents) != 1 {
		p.t.Fatalf("marked %+v, %v", m, err)
	}
	if got, err := rows.Confirm(p.t.Context(), m.Fence, []adopt.Outcome{{Content: "h"}}, adopt.Grace{}); err != nil || got.Gone != 1 {
		p.t.Fatalf("confirmed %+v, %v", got, err)
	}
}

// leaves removes everything of Lethe. Missing rights are reported once.
func (p *poor) leaves(rows *Collection) {
	p.t.Helper()
	for _, step := range []func(context.Context) error{rows.RemoveGuard, p.Remove} {
		err := step(p.t.Context())
		if err != nil {
			p.granted(err)
			err = step(p.t.Context())
		}
		if err != nil {
			p.t.Errorf("it does not leave: %v", err)
		}
	}
	if there, err := p.Installed(p.t.Context()); err != nil || there {
		p.t.Errorf("Lethe's tables are there: %v, %v", there, err)
	}
}

// Existing rights are not requested again, and rights that are revoked later
// are reported by what fails.
func TestRightsThatAreLacking(t *testing.T) {
	p := poorOnPostgres(t)
	_, err := p.Collection(t.Context(), "pastes", kind{}.description())
	p.granted(err)
	rows, err := p.Collection(t.Context(), "pastes", kind{}.description())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Install(t.Context()), rows.InstallGuard(t.Context())); err != nil {
		t.Fatal(err)
	}
	var role string
	if err := p.runner.Pool.QueryRow("SELECT current_user").Scan(&role); err != nil {
		t.Fatal(err)
	}
	p.do("REVOKE UPDATE ON pastes FROM " + role)
	p.do("REVOKE DELETE ON content FROM " + role)
	want := []string{"GRANT UPDATE ON " + rows.s.rows.place + " TO " + role, "GRANT DELETE ON " + rows.s.contents.place + " TO " + role}
	found, err := rows.Check(t.Context())
	if err != nil || len(found) == 0 || found[0].Do != adopt.ToGrant(want) {
		t.Errorf("a check finds %+v, %v, want first %q", found, err, want)
	}
	_, err = rows.Claim(t.Context(), 10)
	var denied *Denied
	if !errors.As(err, &denied) || !slices.Equal(denied.Grants, want) {
		t.Errorf("a claim: %v", err)
	}
}

// The schema may be created by another user, and stays theirs.
func TestSchemaOfAnother(t *testing.T) {
	p := poorOnPostgres(t)
	p.do("CREATE SCHEMA " + p.o.Schema)
	p.granted(p.Install(t.Context()))
	if err := errors.Join(p.Install(t.Context()), p.Remove(t.Context())); err != nil {
		t.Errorf("in the schema of another: %v", err)
	}
}

// Contents without a count depend on references. On MariaDB a user does not see
// the foreign keys of tables on which it has no rights.
func TestHiddenReferences(t *testing.T) {
	k := mysqlKind{}
	k.Uncounted = true
	p := poorOnMariaDB(t, k)
	d := k.description()
	user := "'po''or'@'127.0.0.1'"
	p.do("GRANT SELECT, UPDATE, DELETE, TRIGGER ON pastes TO " + user)
	p.do("GRANT SELECT, UPDATE, DELETE, TRIGGER ON content TO " + user)
	p.do("CREATE TABLE pinned (hash VARCHAR(64) REFERENCES content (hash))")
	_, err := p.Collection(t.Context(), "pastes", d)
	p.granted(err)
	if _, err := p.Collection(t.Context(), "pastes", d); err == nil || !strings.Contains(err.Error(), "pinned.hash refers to content") {
		t.Errorf("a reference that was hidden: %v", err)
	}
}

// Queries name their tables.
func TestRightsOfQueries(t *testing.T) {
	for name, start := range map[string]func(*testing.T) poor{
		"PostgreSQL": poorOnPostgres, "MariaDB": func(t *testing.T) poor { return poorOnMariaDB(t, mysqlKind{}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			d := adopt.Collection{Kind: adopt.OfKeys, Prefix: "k/", Keys: &adopt.KeySpec{Query: "SELECT p.code FROM pastes p JOIN content USING (hash)"}}
			_, err := p.Keys(t.Context(), "links", d)
			p.granted(err)
			if _, err := p.Keys(t.Context(), "links", d); err != nil {
				t.Errorf("with what it asked for: %v", err)
			}
		})
	}
}

// The error of a user who may not connect has the grant that allows it.
func TestUserOutside(t *testing.T) {
	m := newMySQLSite(t, servers.MariaDB(t), mysqlKind{})
	m.must("DROP USER IF EXISTS outside@'127.0.0.1'")
	m.must("CREATE USER outside@'127.0.0.1' IDENTIFIED BY 'topsecret'")
	p := newSite(t, servers.Postgres(t), kind{})
	sql := func(text string) {
		if _, err := p.pool.Exec(context.WithoutCancel(t.Context()), text); err != nil {
			t.Fatal(err)
		}
	}
	name := p.pool.Config().ConnConfig.Database
	sql("DROP ROLE IF EXISTS outside; CREATE ROLE outside LOGIN; REVOKE CONNECT ON DATABASE " + name + " FROM PUBLIC")
	t.Cleanup(func() { sql("DROP OWNED BY outside; DROP ROLE outside") })
	for address, run := range map[string]func(string){
		strings.Replace(m.url, "lethe:lethetestsecret", "outside:topsecret", 1): func(text string) { m.must(text) },
		strings.Replace(p.url, "lethe@", "outside@", 1):                         sql,
	} {
		_, err := Open(t.Context(), address, Options{})
		var denied *Denied
		if !errors.As(err, &denied) || len(denied.Grants) != 1 {
			t.Fatalf("a user outside: %v", err)
		}
		run(denied.Grants[0])
		db, err := Open(t.Context(), address, Options{})
		if err != nil {
			t.Fatalf("after %s: %v", denied.Grants[0], err)
		}
		_ = db.Close()
	}
}

func TestGrantsAreRead(t *testing.T) {
	for line, want := range map[string]bool{
		"GRANT SELECT, UPDATE ON *.* TO `u`@`h`":                            true,
		"GRANT ALL PRIVILEGES ON `my\\_app`.* TO `u`@`h` WITH GRANT OPTION": true,
		"GRANT SELECT (`a`, `b`), UPDATE ON `my_app`.`t` TO `u`@`h`":        true,
		"GRANT UPDATE (`a`) ON `my_app`.`t` TO `u`@`h`":                     false,
		"GRANT UPDATE ON `my%`.* TO `u`@`h`":                                true,
		"GRANT UPDATE ON `my\\_app`.`t` TO `u`@`h`":                         false,
		"GRANT UPDATE ON `other`.* TO `u`@`h`":                              false,
		"GRANT UPDATE ON `my_app`.`s` TO `u`@`h`":                           false,
		"GRANT SELECT ON *.* TO `u`@`h`":                                    false,
		"GRANT `role` TO `u`@`h`":                                           false,
	} {
		g, ok := grantedBy(strings.ReplaceAll(line, "`", `"`))
		if got := ok && g.gives("UPDATE", "my_app", "t"); got != want {
			t.Errorf("%s gives UPDATE: %v", line, got)
		}
	}
}

// A table of another database may refer to contents: a user who could not see it is refused.
func TestReferencesFromOtherDatabases(t *testing.T) {
	k := mysqlKind{}
	k.Uncounted = true
	p := poorOnMariaDB(t, k)
	user := "'po''or'@'127.0.0.1'"
	var own string
	if err := p.runner.Pool.QueryRow("SELECT DATABASE()").Scan(&own); err != nil {
		t.Fatal(err)
	}
	other := own + "_crm"
	p.do("GRANT ALL ON " + own + ".* TO " + user)
	p.do("CREATE DATABASE " + other)
	defer p.do("DROP DATABASE " + other)
	p.do("CREATE TABLE " + other + ".avatars (hash VARCHAR(64), FOREIGN KEY (hash) REFERENCES " + own + ".content (hash))")
	p.DB = p.anew()
	_, err := p.Collection(t.Context(), "pastes", k.description())
	var denied *Denied
	if !errors.As(err, &denied) || !slices.Equal(denied.Grants, []string{"GRANT REFERENCES ON *.* TO " + user}) {
		t.Fatalf("a foreign key may be hidden: %v", err)
	}
	p.granted(err)
	if _, err := p.Collection(t.Context(), "pastes", k.description()); err == nil || !strings.Contains(err.Error(), "avatars.hash refers to content") {
		t.Errorf("a foreign key of another database: %v", err)
	}
}
