package sqladopt

import (
	"errors"
	"regexp"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	// folds returns whether different keys are equal in the column of a query. A collation
	// that is not deterministic ignores case, or at least control characters, and so may the
	// equality of a type such as citext. A domain has that of its type.
	folds = `SELECT concat(v.k, 'a') = concat(v.k, 'A') OR concat(v.k, 'a') = concat(v.k, 'a', chr(1))
		OR CAST((SELECT coalesce(nullif(y.typbasetype, 0), y.oid) FROM pg_type y WHERE y.oid = pg_typeof(v.k)) AS regtype) NOT IN (
		'text', 'varchar', 'bpchar', 'name', 'uuid', 'smallint', 'integer', 'bigint', 'bytea')
		FROM (SELECT (SELECT * FROM {queried} LIMIT 0) AS k) AS v`
	sqliteFolded = `SELECT count(DISTINCT v.k) < 3 FROM (SELECT queried.k FROM {queried} WHERE FALSE
		UNION ALL SELECT 'a' UNION ALL SELECT 'A' UNION ALL SELECT 'a ') AS v`
	// mysqlFolds asks for the collation only if the query merges keys, or a view that it names
	// may: Lethe compares bytes.
	mysqlFolds = `SELECT ({merges} OR EXISTS (SELECT 1 FROM information_schema.tables WHERE table_type = 'VIEW' AND LOCATE(table_name, {query}) > 0))
		AND COLLATION((SELECT * FROM {queried} LIMIT 0)) NOT REGEXP '(^binary|_nopad_bin|_0900_bin)$'`
)

// errFolds refuses a query by which one of two objects would look unused.
var errFolds = errors.New(`to the collation or the type of its column different keys are equal, such as ABC and abc, and live ones would be missed: ` +
	`select x::text COLLATE "C" (PostgreSQL), x COLLATE BINARY (SQLite), CAST(CONVERT(x USING utf8mb4) AS BINARY) (MariaDB), ` +
	`within the subquery or view that has DISTINCT, GROUP BY or UNION without ALL`)

var (
	quotedText = regexp.MustCompile("(?s)'(?:[^'\\\\]|\\\\.)*'|\"[^\"]*\"|`[^`]*`|(?:--|#)[^\n]*|/\\*[^!M].*?\\*/")
	merging    = regexp.MustCompile(`(?i)\b(?:DISTINCT|DISTINCTROW|GROUP\s+BY|UNION(?:\s+ALL)?|INTERSECT|EXCEPT|MINUS)\b`)
	unionAll   = regexp.MustCompile(`(?i)\sALL$`)
)

// merges reports whether a query compares the keys that it returns with each other.
func merges(query string) bool {
	for _, word := range merging.FindAllString(quotedText.ReplaceAllString(query, " "), -1) {
		if !unionAll.MatchString(word) {
			return true
		}
	}
	return false
}

// foldingWords are the words of folds for a query.
func foldingWords(query string) words {
	w := words{"{queried}": source(query, "queried", "k"), "{query}": sqldb.Literal(query), "{merges}": "FALSE"}
	if merges(query) {
		w["{merges}"] = "TRUE"
	}
	return w
}

// apart returns errFolds for the query of foldingWords.
func (t *tx) apart() error {
	var yes bool
	err := t.row(folds).Scan(&yes)
	if err == nil && yes {
		return errFolds
	}
	return err
}
