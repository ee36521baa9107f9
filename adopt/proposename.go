package adopt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// collection returns the name of a table's collection, which no other has.
func (p proposal) collection(table string) string {
	parts := strings.Split(table, ".")
	name := legal(parts[len(parts)-1])
	if p.names[name] {
		name = legal(strings.Join(parts, "_"))
	}
	for base, n := name, 2; p.names[name]; n++ {
		name = legal(fmt.Sprintf("%.36s_%d", base, n))
	}
	p.names[name] = true
	return name
}

var notInName = regexp.MustCompile(`[^a-z0-9_]+`)

// legal returns a name that a collection may have.
func legal(name string) string {
	name = notInName.ReplaceAllString(strings.ToLower(name), "_")
	if !collectionName.MatchString(name[:min(1, len(name))]) {
		name = "of_" + name
	}
	return name[:min(40, len(name))]
}

// quotedInYAML matches texts that YAML does not take for themselves without quotes.
var quotedInYAML = regexp.MustCompile(`(?i)^[^a-z_]|: |:$| #|\s$|[\p{Cc}\x{2028}\x{2029}]|^(?:null|true|false|yes|no|on|off|y|n)$`)

// scalar returns a text as YAML has it.
func scalar(text string) string {
	if quotedInYAML.MatchString(text) {
		return strconv.Quote(text)
	}
	return text
}

var control = regexp.MustCompile(`[\p{Cc}\x{2028}\x{2029}]`)

// comment returns a text as a comment has it: a line break in a name would end the comment.
func comment(text string) string {
	if control.MatchString(text) {
		return strconv.Quote(text)
	}
	return text
}

// hasHole reports whether a text in a template would be taken for a column, or a column's
// name has no place in one.
func hasHole(text string) bool { return strings.ContainsAny(text, "{}") }

// literal returns a text as SQL has it.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

var plainIdentifier = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Identifier returns a name as SQL has it, with quotes only where it needs them: SQLite takes
// a quoted name of no column for a text.
func Identifier(parts ...string) string {
	quoted := make([]string, len(parts))
	for i, p := range parts {
		if quoted[i] = p; !plainIdentifier.MatchString(p) || slices.Contains(reserved, p) {
			quoted[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, ".")
}

// reserved are the words that PostgreSQL, MariaDB or SQLite take for something else than a
// name. PostgreSQL takes user and system_user for its own user, without an error.
var reserved = strings.Fields(`accessible action add all alter analyse analyze and any array as asc asensitive asymmetric authorization
	autoincrement before between bigint binary blob both by call cascade case cast change char character check collate collation column
	commit concurrently condition constraint continue convert create cross current_catalog current_date current_role
	current_schema current_time current_timestamp current_user cursor database databases day_hour day_microsecond
	day_minute day_second dec decimal declare default deferrable delayed delete delete_domain_id desc describe
	deterministic distinct distinctrow div do do_domain_ids double drop dual each else elseif enclosed end escape escaped
	except exists exit explain false fetch float float4 float8 for force foreign freeze from full fulltext function
	general generated grant group grouping groups having high_priority hour_microsecond hour_minute hour_second if ignore
	ignore_domain_ids ilike in index infile initially inner inout insensitive insert int int1 int2 int3 int4 int8 integer
	intersect interval into is isnull iterate join key keys kill lateral lead leading leave left like limit linear lines
	load localtime localtimestamp lock long longblob longtext loop low_priority master_demote_to_replica
	master_demote_to_slave master_ssl_verify_server_cert match maxvalue mediumblob mediumint mediumtext middleint
	minute_microsecond minute_second mod modifies natural no_write_to_binlog not nothing notnull null numeric of offset on
	only optimize option optionally or order out outer outfile over overlaps page_checksum parse_vcol_expr partition
	placing portion position precision primary procedure purge raise range rank read read_write reads real recursive
	ref_system_id references regexp release rename repeat replace require resignal restrict return returning revoke right
	rlike row row_number rows schema schemas second_microsecond select sensitive separator session_user set show signal
	similar smallint some spatial specific sql sql_big_result sql_calc_found_rows sql_small_result sqlexception sqlstate
	sqlwarning ssl starting stats_auto_recalc stats_persistent stats_sample_pages straight_join symmetric system
	system_user table tablesample terminated then tinyblob tinyint tinytext to trailing transaction trigger true undo
	union unique unlock unsigned update usage use user using utc_date utc_time utc_timestamp values varbinary varchar
	varcharacter variadic varying verbose virtual when where while window with write xor year_month zerofill`)
