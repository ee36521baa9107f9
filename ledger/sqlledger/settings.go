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

// NoSync omits every flush, for benchmarks: a power failure then loses committed
// transactions, or the file.
func NoSync() Setting { return func(s *settings) { s.noSync = true } }

// Ballast sets the size in bytes of a file beside a SQLite ledger that keeps room for
// deletes on a full disk (default 16 MiB; negative: none).
func Ballast(bytes int64) Setting { return func(s *settings) { s.ballast = bytes } }

// Postgres sets the options of a ledger in PostgreSQL.
func Postgres(o PostgresOptions) Setting { return func(s *settings) { s.postgres = o } }
