package servers

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Template answers the URL of a copy of a database that CREATE DATABASE .. TEMPLATE
// makes. It breaks the connections to the database, and keeps others out meanwhile.
func (s *PostgresServer) Template(database string) string {
	s.t.Helper()
	name := s.name(database)
	s.execute("ALTER DATABASE " + name + " WITH ALLOW_CONNECTIONS false")
	s.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
	copied := newDatabase(s.t, s.Addr, name)
	s.execute("ALTER DATABASE " + name + " WITH ALLOW_CONNECTIONS true")
	return copied
}

// Restored answers the URL of a fresh database that holds a dump of another one, which
// stays in use meanwhile.
func (s *PostgresServer) Restored(database string) string {
	s.t.Helper()
	file, into := filepath.Join(s.process.folder.path, "dump"), s.Database()
	s.run("pg_dump", "-Fc", "-f", file, database)
	s.run("pg_restore", "-d", into, file)
	return into
}

// BaseBackup takes a base backup of the cluster and starts it as one of its own, at
// another address, as a restore does.
func (s *PostgresServer) BaseBackup() *PostgresServer {
	s.t.Helper()
	f, err := newDatabaseFolder(s.process.folder.owner)
	if err != nil {
		s.t.Fatal(err)
	}
	s.run("pg_basebackup", "-D", dataOf(f), "-d", s.URL("postgres"), "-X", "stream", "-c", "fast", "--no-sync")
	p, addr, err := servePostgres(s.process.args[:slices.Index(s.process.args, "-D")], f, nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	p.endWith(s.t)
	return &PostgresServer{Addr: addr, t: s.t, process: p}
}

// On answers the URL of a database of the cluster that has the name of another's.
func (s *PostgresServer) On(database string) string { return s.URL(s.name(database)) }

// name is that of the database of a URL.
func (s *PostgresServer) name(database string) string {
	s.t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

func (s *PostgresServer) execute(statement string) {
	s.t.Helper()
	if err := execute(context.Background(), s.Addr, statement); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a program that lies beside the server's.
func (s *PostgresServer) run(name string, args ...string) {
	s.t.Helper()
	if err := s.process.folder.run(exec.Command(filepath.Join(filepath.Dir(s.process.args[0]), name), args...)); err != nil {
		s.t.Fatal(err)
	}
}
