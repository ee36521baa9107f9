package sqldb

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// minPostgres is the oldest version tested, in the server's numbering.
const minPostgres = 14_00_00

// PostgresConfig parses the address of a PostgreSQL database. application is the name that
// the server shows, unless the address has one. An error does not contain the address: there
// may be a password in it.
func PostgresConfig(url, application string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the address cannot be read: give one such as postgres://user:password@host:5432/name")
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, 10*time.Second)
	config.RuntimeParams["application_name"] = cmp.Or(config.RuntimeParams["application_name"], application)
	// The server would send names in the encoding that database or role are set to.
	config.RuntimeParams["client_encoding"] = "UTF8"
	return config, nil
}

// PostgresState selects the values for CheckPostgres.
const PostgresState = `current_setting('server_version_num')::int, pg_is_in_recovery()`

// CheckPostgres returns an error for a server that is too old, and for a standby, whose
// results may be stale.
func CheckPostgres(version int, standby bool) error {
	switch {
	case version < minPostgres:
		return fmt.Errorf("PostgreSQL is of version %d: at least %d is needed", version/10000, minPostgres/10000)
	case standby:
		return errors.New("this PostgreSQL is a standby: give the URL of the primary (or several hosts and target_session_attrs=read-write)")
	}
	return nil
}
