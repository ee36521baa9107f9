package sqldb

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// Quoted returns a name in double quotes.
func Quoted(name string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(name, "\x00", ""), `"`, `""`) + `"`
}

// Literal returns a text in single quotes.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// JSON encodes a parameter for Rows and IDs. It panics on a value that cannot be encoded,
// which is a programming error.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqldb: encode parameter: %v", err))
	}
	return string(b)
}

// Collect scans all rows and closes them.
func Collect[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, MapError(err)
		}
		out = append(out, v)
	}
	return out, MapError(rows.Err())
}

// One scans a row of a single column.
func One[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}
