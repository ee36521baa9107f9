// Package servers starts real servers for tests: PostgreSQL, pgbouncer, MariaDB, Redis,
// S3 servers of different make, and a TCP proxy that injects faults.
//
// They listen on free ports of 127.0.0.1, outside of the range from which the
// kernel serves outgoing connections, keep their data in temporary folders, and
// run as another user where they refuse root. Postgres, PgBouncer, VersityGW and
// the other functions without New share one server per test process and hand
// out something fresh of it (a database, a bucket); the New functions start one
// that the test may kill, freeze and restart.
//
// Nothing is left behind: a server dies with the process of the test, however
// that ends, and a helper that outlives it removes the folders.
//
// LETHE_DATABASES names a folder in memory, which PostgreSQL and MariaDB then use for their
// data: to make and drop databases costs little there, and a server that was killed finds
// what it wrote, as it does on a disk whose machine goes on.
//
// LETHE_SERVERS decides what happens when a server is not installed: with ""
// the test is skipped, with "require" it fails, and with "skip" every test that
// needs a server is skipped. The same holds for programs that tests use (promtool,
// strace), and where strace may not trace. scripts/needs.sh installs them.
package servers
