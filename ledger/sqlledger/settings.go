package sqlledger

// Setting sets how a ledger uses its database.
type Setting func(*settings)

type settings struct {
	noSync   bool
	ballast  int64
	postgres PostgresOptions
}

func settingsOf(set []Setting) (s settings) {
	for _, f := range set {
		f(&s)
	}
	return s
}

// NoSync leaves out every flush, for benchmarks: a loss of power then loses what was
// committed, or the file.
func NoSync() Setting { return func(s *settings) { s.noSync = true } }

// Ballast sets how many bytes a file beside a ledger in SQLite holds ready for deletes
// on a full disk (default 16 MiB; less than 0: none).
func Ballast(bytes int64) Setting { return func(s *settings) { s.ballast = bytes } }

// Postgres sets how a ledger in PostgreSQL is reached.
func Postgres(o PostgresOptions) Setting { return func(s *settings) { s.postgres = o } }
