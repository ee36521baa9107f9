package sqldb

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestRefusal: only the server's own reply proves that a COMMIT did nothing. That of a
// pooler without a server, or of a server shutting down, leaves it unknown.
func TestRefusal(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Severity: "ERROR", Code: serialization}, true},
		{&pgconn.PgError{Severity: "ERROR", Code: "23503"}, true},
		{&pgconn.PgError{Severity: "ERROR", Code: "08006"}, false},
		{&pgconn.PgError{Severity: "ERROR", Code: "08P01"}, false},
		{&pgconn.PgError{Severity: "FATAL", Code: "57P01"}, false},
		{errors.New("connection reset by peer"), false},
	} {
		if got := refusal(c.err); got != c.want {
			t.Errorf("refusal(%v) = %v, want %v", c.err, got, c.want)
		}
	}
}
