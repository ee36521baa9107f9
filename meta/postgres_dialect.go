package meta

import (
	"fmt"
	"strings"
	"sync"
)

const postgresName = "postgres"

// postgresDialect relies on READ COMMITTED: what a statement waited for it sees
// as it is then. Rows that are deleted or changed are locked FOR NO KEY UPDATE,
// which lets the checks of foreign keys pass.
var postgresDialect = dialect{
	name:  postgresName,
	slots: 16,
	words: map[string]string{
		locked:        "FOR UPDATE SKIP LOCKED",
		shared:        "FOR SHARE",
		exclusive:     "FOR NO KEY UPDATE",
		nextFenceMark: "SELECT nextval('fences')",
		lastFence:     "(SELECT last_value FROM fences)",
		connections:   "CAST(current_setting('max_connections') AS BIGINT)",
	},
	ordered: func(by string) string { return "ORDER BY " + by + " FOR NO KEY UPDATE" },
	source: func(param int, cols []string) string {
		return fmt.Sprintf("jsonb_to_recordset(CAST(nullif(CAST(?%d AS TEXT), 'null') AS JSONB)) AS t(%s)", param, strings.Join(cols, ", "))
	},
	list: func(param int) string {
		return fmt.Sprintf("jsonb_array_elements_text(CAST(nullif(CAST(?%d AS TEXT), 'null') AS JSONB)) AS t(id)", param)
	},
	param: func(n string) string { return "$" + n },
}

var postgresTexts sync.Map

// postgresText is expand, once for each text.
func postgresText(text string) string {
	if have, ok := postgresTexts.Load(text); ok {
		return have.(string)
	}
	out := postgresDialect.expand(text)
	postgresTexts.Store(text, out)
	return out
}
