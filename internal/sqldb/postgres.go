package sqldb

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// minPostgres is the oldest version that is tested, as the server counts.
const minPostgres = 14_00_00

// PostgresConfig reads the address of a PostgreSQL database. The application's name is
// what the server shows, unless the address has one. An error tells nothing of the
// address: there may be a password in it.
func PostgresConfig(url, application string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the address cannot be read: give one such as postgres://user:password@host:5432/name")
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, 10*time.Second)
	config.RuntimeParams["application_name"] = cmp.Or(config.RuntimeParams["application_name"], application)
	return config, nil
}

// PostgresState asks for what CheckPostgres judges.
const PostgresState = `current_setting('server_version_num')::int, pg_is_in_recovery()`

// CheckPostgres refuses a server that is too old, and a standby: what it would answer
// may be old as well.
func CheckPostgres(version int, standby bool) error {
	switch {
	case version < minPostgres:
		return fmt.Errorf("PostgreSQL is of version %d: at least %d is needed", version/10000, minPostgres/10000)
	case standby:
		return errors.New("this PostgreSQL is a standby: give the URL of the primary (or several hosts and target_session_attrs=read-write)")
	}
	return nil
}
