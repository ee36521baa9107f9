package sqladopt

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// mysql is MariaDB and MySQL. It uses what both support.
type mysql struct{ o Options }

//go:embed schema_mysql.sql
var mysqlSchema string

// mysqlURL matches the schemes of its addresses.
var mysqlURL = regexp.MustCompile(`^(mysql|mariadb)://`)

func (m mysql) pool(_ context.Context, url string) (*sql.DB, error) {
	pool, err := sqldb.OpenMySQL(url)
	if err != nil {
		return nil, err
	}
	// The server closes connections that are idle for that long.
	pool.SetConnMaxIdleTime(m.o.StatementTime / 2)
	return pool, nil
}

func (m mysql) beginnings() (write, read string) {
	return sqldb.MySQLBegin(m.o.StatementTime, m.o.LockTime)
}

// The oldest versions with row sources of JSON, and SKIP LOCKED.
const (
	minMariaDB = 10_06
	minMySQL   = 8_00
)

const serverFacts = `SHOW GLOBAL VARIABLES WHERE Variable_name IN
	('version', 'read_only', 'super_read_only', 'innodb_read_only', 'wsrep_on', 'log_bin', 'binlog_format')`

// replication counts the servers that MariaDB replicates from now. Asking for the
// others as well would need a privilege.
const replication = `SHOW GLOBAL STATUS WHERE Variable_name = 'Slaves_running'`

// probe refuses a server that reports that it is not a primary: a replica that
// is not read-only looks like one while it does not replicate, and on MySQL.
func (m mysql) probe(t *tx) error {
	facts := map[string]string{}
	for _, query := range []string{serverFacts, replication} {
		_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
			var name, value string
			err = r.Scan(&name, &value)
			facts[strings.ToLower(name)] = value
			return none, err
		}, query)
		if err != nil {
			return err
		}
	}
	on := func(name string) bool { return facts[name] != "" && facts[name] != "OFF" }
	switch kind, least, have := mysqlVersion(facts["version"]); {
	case have < least:
		return fmt.Errorf("%s is of version %s: at least %d.%d is needed", kind, facts["version"], least/100, least%100)
	case on("read_only"), on("super_read_only"), on("innodb_read_only"):
		return errors.New("this server is read-only: give the URL of the primary")
	case facts["slaves_running"] != "" && facts["slaves_running"] != "0":
		return errors.New("this server replicates from another one, whose rows it may not have yet: give the URL of the primary")
	case on("wsrep_on"):
		return errors.New("this is a Galera cluster, whose nodes do not see each other's locks: objects that are in use could be deleted")
	case on("log_bin") && facts["binlog_format"] == "STATEMENT":
		return errors.New("the server's binlog_format is STATEMENT, which READ COMMITTED cannot be logged in: set MIXED or ROW")
	}
	return nil
}

var versionNumber = regexp.MustCompile(`^(\d+)\.(\d+)`)

// mysqlVersion parses a version: 1006 is 10.6.
func mysqlVersion(text string) (kind string, least, have int) {
	if n := versionNumber.FindStringSubmatch(text); n != nil {
		major, _ := strconv.Atoi(n[1])
		minor, _ := strconv.Atoi(n[2])
		have = major*100 + minor
	}
	if strings.Contains(text, "MariaDB") {
		return "MariaDB", minMariaDB, have
	}
	return "MySQL", minMySQL, have
}

func (m mysql) remarks(t *tx) (out []adopt.Finding, err error) {
	var version string
	if err := t.row("SELECT VERSION()").Scan(&version); err != nil {
		return nil, err
	}
	return untested(version), nil
}

// untested says on MySQL that the tests run on MariaDB.
func untested(version string) []adopt.Finding {
	if kind, _, _ := mysqlVersion(version); kind == "MariaDB" {
		return nil
	}
	return []adopt.Finding{{
		What: fmt.Sprintf("this is MySQL %s: Lethe's tests run on MariaDB 10.11, and none on MySQL", version),
		Do:   "try it on a copy of database and bucket first",
	}}
}

func (mysql) claimColumns(of adopt.TableInfo, end string) []string {
	clients := func(name string) string { return strings.ReplaceAll(adopt.Identifier(name), `"`, "`") }
	table, end := clients(of.Name), clients(end)
	return []string{
		"ALTER TABLE " + table + " ADD COLUMN deletion_status varchar(20) NOT NULL DEFAULT 'NOT_EXPIRED'",
		"    CHECK (deletion_status IN ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED')),",
		"    ADD COLUMN deletion_initiated_at datetime(6) NULL,",
		"    ADD INDEX (deletion_status, " + end + "), ADD INDEX (deletion_status, deletion_initiated_at);",
	}
}

func (mysql) relax(*tx) error { return nil }

func (mysql) allow(t *tx, d time.Duration) error { return t.script(sqldb.MySQLAllow(d)) }

func (mysql) undefer() string { return "" }

func (m mysql) dialect(w words) sqldb.Dialect {
	d := sqldb.MySQL(w.with(words{
		"{for update}": "FOR UPDATE", "{binary}": "", "{number of id}": "CAST(id AS SIGNED)", "{lethe}": m.o.Schema + "_",
		"{held key}": `CONVERT("key" USING utf8mb4)`,
	}))
	d.Instead, d.Own = mysqlTexts, ownTables(m.o.Schema+"_")
	return d
}

// text returns bytes: no collation makes two of them equal, and their order is
// that of keys in a bucket.
func (mysql) text(expression string, c column) string {
	if isBinary(c.base) {
		return "CAST(LOWER(HEX(" + expression + ")) AS BINARY)"
	}
	return "CAST(CONVERT(" + expression + " USING utf8mb4) AS BINARY)"
}

func isBinary(base string) bool { return base == "binary" || base == "varbinary" }

func (mysql) value(expression string, c column) string {
	switch {
	case isBinary(c.base):
		return "UNHEX(" + expression + ")"
	case !strings.HasSuffix(c.base, "int"):
		return expression
	case strings.Contains(c.kind, "unsigned"):
		return "CAST(" + expression + " AS UNSIGNED)"
	}
	return "CAST(" + expression + " AS SIGNED)"
}

const (
	epoch = "TIMESTAMP'1970-01-01 00:00:00'"
	// changesItself finds columns that every UPDATE of their row sets.
	changesItself = `SELECT extra LIKE '%on update%' FROM information_schema.columns
		WHERE table_schema = coalesce(nullif(?1, ''), DATABASE()) AND table_name = ?2 AND column_name = ?3`
)

func (m mysql) instants(t *tx, table string, c column, r adopt.Rows) (i instants, err error) {
	name := "r." + sqldb.Quoted(c.name)
	switch c.base {
	case "timestamp", "datetime", "date":
		if i, err = m.times(t, c, r.Zone); err != nil {
			return i, err
		}
		// No row expires at '0000-00-00'.
		i.at.close += " AND " + name + " > '1000-01-01'"
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "double":
		per, err := perUnit(c, r.Unit)
		if err != nil {
			return i, err
		}
		i.at = around{"(CAST(", " AS SIGNED) DIV " + per + ")"}
		i.micros = around{"CAST(greatest(", ", 0) * " + per + " AS SIGNED)"}
		i.stamp = i.at
	default:
		return i, fmt.Errorf("column %s is of type %s, which is no time: it has to be a datetime, a timestamp, a date, or a number with a unit", c.name, c.kind)
	}
	schema, bare := split(table)
	var moves bool
	if err := t.row(changesItself, schema, bare, c.name).Scan(&moves); err != nil {
		return i, err
	}
	if moves && c.name == r.End {
		return i, fmt.Errorf("column %s changes by itself with every UPDATE (ON UPDATE CURRENT_TIMESTAMP): a row that is given back would end at once", c.name)
	}
	return i, nil
}

// times returns the instants of a column of times. TIMESTAMP is stored in UTC,
// the session's zone.
func (mysql) times(t *tx, c column, zone string) (i instants, err error) {
	i.at = around{"(" + epoch + " + INTERVAL ", " MICROSECOND)"}
	i.micros = around{"greatest(TIMESTAMPDIFF(MICROSECOND, " + epoch + ", ", "), 0)"}
	if c.base != "timestamp" {
		switch zone {
		case "":
			return i, fmt.Errorf("column %s is a %s: say in which time zone it is (zone: UTC)", c.name, c.kind)
		case "UTC", "Etc/UTC":
			zone = "+00:00"
		}
		var known bool
		if err := t.row("SELECT CONVERT_TZ('2020-01-01 00:00:00', '+00:00', ?1) IS NOT NULL", zone).Scan(&known); err != nil {
			return i, err
		}
		if !known {
			return i, fmt.Errorf("the server knows no time zone %s: load its tables (mariadb-tzinfo-to-sql), or give an offset such as +02:00", zone)
		}
		if zone != "+00:00" {
			in := sqldb.Literal(zone)
			i.at = around{"CONVERT_TZ(" + i.at.open, i.at.close + ", '+00:00', " + in + ")"}
			i.micros = around{i.micros.open + "CONVERT_TZ(", ", " + in + ", '+00:00')" + i.micros.close}
		}
	}
	kept := "DATETIME" + precision.FindString(c.kind)
	if c.base == "date" {
		kept = "DATE"
		i.at = around{"CAST(" + i.at.open, i.at.close + " AS DATE)"}
	}
	i.stamp = around{"CAST(" + i.at.open, i.at.close + " AS " + kept + ")"}
	return i, nil
}

// conditional matches the column of a condition on rows; there are no partial
// indexes.
var conditional = regexp.MustCompile(`^ WHERE ("[^"]+") = `)

func (mysql) index(table, columns, where string) string {
	if strings.HasPrefix(columns, "(") {
		return "an index serves columns: write the key into a column of " + strings.ReplaceAll(table, `"`, "`") +
			" (GENERATED ALWAYS AS .. STORED), give that an index, and name it alone in rows.objects"
	}
	if m := conditional.FindStringSubmatch(where); m != nil {
		columns = m[1] + ", " + columns
	}
	return strings.ReplaceAll("ALTER TABLE "+table+" ADD INDEX ("+columns+")", `"`, "`")
}

func (m mysql) prepare(t *tx) error {
	if !mysqlPrefix.MatchString(m.o.Schema) {
		return fmt.Errorf("schema is %q: names of Lethe's tables begin with it here, so it has to be of letters, digits and _", m.o.Schema)
	}
	return nil
}

var mysqlPrefix = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

func (m mysql) leave(t *tx) error {
	_, err := t.exec("DROP TABLE IF EXISTS {lethe}guards")
	return err
}
