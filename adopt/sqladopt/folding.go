package sqladopt

import (
	"errors"
	"regexp"
)

const (
	// folds returns whether different keys are equal in the column of a query. A collation
	// that is not deterministic ignores case, or at least control characters.
	folds = `SELECT concat(v.k, 'a') = concat(v.k, 'A') OR concat(v.k, 'a') = concat(v.k, 'a', chr(1))
		FROM (SELECT (SELECT * FROM {queried} LIMIT 0) AS k) AS v`
	sqliteFolded = `SELECT count(DISTINCT v.k) < 3 FROM (SELECT queried.k FROM {queried} WHERE FALSE
		UNION ALL SELECT 'a' UNION ALL SELECT 'A' UNION ALL SELECT 'a ') AS v`
	// mysqlFolds asks for the collation only if the query merges keys: Lethe compares bytes.
	mysqlFolds = `SELECT {merges} AND COLLATION((SELECT * FROM {queried} LIMIT 0)) NOT REGEXP '(^binary|_nopad_bin|_0900_bin)$'`
)

// errFolds refuses a query by which one of two objects would look unused.
var errFolds = errors.New(`to the collation of its column different keys are equal, such as ABC and abc, and live ones would be missed: ` +
	`select x COLLATE "C" (PostgreSQL), x COLLATE BINARY (SQLite), or leave out DISTINCT, GROUP BY and UNION without ALL, or select CAST(x AS BINARY) (MariaDB)`)

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
	w := words{"{queried}": source(query, "queried", "k"), "{merges}": "FALSE"}
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
