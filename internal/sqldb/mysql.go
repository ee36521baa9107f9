package sqldb

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MySQLName is the name of the dialect of MariaDB and MySQL.
const MySQLName = "mysql"

// mysqlMode is the sql_mode of the dialect's statements. Names are in double quotes, ||
// concatenates, only a quote is escaped in a literal, and a value that does not fit is an
// error.
const mysqlMode = "ANSI_QUOTES,PIPES_AS_CONCAT,STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO"

// MySQL returns the dialect of MariaDB and MySQL. It relies on mysqlMode and on READ
// COMMITTED: a read with a lock sees the row as it is then.
func MySQL(words map[string]string) Dialect {
	all := map[string]string{
		Locked:    "FOR UPDATE SKIP LOCKED",
		Shared:    "LOCK IN SHARE MODE",
		Exclusive: "FOR UPDATE",
	}
	maps.Copy(all, words)
	return Dialect{
		Name:    MySQLName,
		words:   all,
		ordered: func(by string) string { return "ORDER BY " + by + " FOR UPDATE" },
		source:  mysqlSource,
		list:    func(param int) string { return jsonTable(param, "id LONGTEXT"+exactly+" PATH '$'") },
		wire:    mysqlWire{},
		undo:    "ROLLBACK; UNLOCK TABLES",
		prepare: listMembers,
		bind:    bindMySQL,
		texts:   new(sync.Map),
	}
}

// exactly is the collation that compares texts by their bytes.
const exactly = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

func mysqlSource(param int, cols []string) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		name, kind, _ := strings.Cut(c, " ")
		if kind == "text" {
			kind = "LONGTEXT" + exactly
		}
		out[i] = fmt.Sprintf("%s %s PATH '$.%s'", Quoted(name), kind, name)
	}
	return jsonTable(param, strings.Join(out, ", "))
}

func jsonTable(param int, columns string) string {
	return fmt.Sprintf("JSON_TABLE(?%d, '$[*]' COLUMNS (%s)) AS t", param, columns)
}

// members matches a membership in a list. The list is written out, as an index works with
// literals and not with a function's rows.
var members = regexp.MustCompile(`IN \(SELECT ((?:[^()]|\([^()]*\))*) FROM \{ids (\d+)\}\)`)

// listed matches what replaces members: the number of its parameter, and its single
// expression.
var listed = regexp.MustCompile(`\?(\d+)|\{list (\d+): ([^}]*)\}`)

// listMembers replaces memberships by placeholders for bindMySQL.
func listMembers(text string) string {
	return members.ReplaceAllString(text, "IN ({list $2: $1})")
}

var identifier = regexp.MustCompile(`\bid\b`)

// bindMySQL puts parameters in the order of their placeholders, which have no numbers, and
// writes lists out.
func bindMySQL(text string, args []any) (string, []any, error) {
	var out []any
	var errs error
	arg := func(digits string) any {
		if n := number(digits); n <= len(args) {
			return args[n-1]
		}
		errs = errors.Join(errs, fmt.Errorf("parameter %s of %d", digits, len(args)))
		return nil
	}
	text = listed.ReplaceAllStringFunc(text, func(mark string) string {
		m := listed.FindStringSubmatch(mark)
		if m[1] != "" {
			out = append(out, arg(m[1]))
			return "?"
		}
		encoded, _ := arg(m[2]).(string)
		var list []any // of strings and numbers
		numbers := json.NewDecoder(strings.NewReader(encoded))
		numbers.UseNumber()
		if err := numbers.Decode(&list); err != nil {
			errs = errors.Join(errs, err)
		}
		if len(list) == 0 {
			return "NULL"
		}
		for _, v := range list {
			out = append(out, plainArg(v))
		}
		one := identifier.ReplaceAllString(m[3], "?")
		return one + strings.Repeat(", "+one, len(list)-1)
	})
	return text, out, errs
}

// mysqlWire implements wire for MariaDB and MySQL.
type mysqlWire struct{ sqlWire }

func (mysqlWire) broken(c *sql.Conn) bool {
	valid := false
	err := c.Raw(func(dc any) error {
		v, ok := dc.(driver.Validator)
		valid = ok && v.IsValid()
		return nil
	})
	return err != nil || !valid
}

// errMySQLURL does not contain the address: there may be a password in it.
var errMySQLURL = errors.New("the address is not valid: use one such as mysql://user:password@host:3306/name")

// OpenMySQL returns a pool for a URL: mysql:// or mariadb://user:password@host:3306/name.
// Its parameters are tls (preferred, the default; true; skip-verify; false), tls-ca,
// tls-cert, tls-key (PEM files) and socket (a path, instead of host and port). It does not
// connect yet. An error does not contain the password.
func OpenMySQL(address string) (*sql.DB, error) {
	config, err := mysqlConfig(address)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, errMySQLURL
	}
	return sql.OpenDB(connector), nil
}

func mysqlConfig(address string) (*mysql.Config, error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || len(u.Path) < 2 || strings.Contains(u.Path[1:], "/") {
		return nil, errMySQLURL
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = "tcp", u.Host, u.Path[1:]
	if u.Port() == "" {
		c.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if u.User != nil {
		c.User = u.User.Username()
		c.Passwd, _ = u.User.Password()
	}
	c.Collation = "utf8mb4_bin"
	c.Timeout = 10 * time.Second
	c.ConnectionAttributes = "program_name:lethe"
	c.Logger = &mysql.NopLogger{}
	c.ClientFoundRows = true   // count rows that a statement matched, not those that it changed
	c.InterpolateParams = true // nothing is prepared
	c.MultiStatements = true   // a transaction begins in one round trip
	return c, mysqlParameters(c, u)
}

func mysqlParameters(c *mysql.Config, u *url.URL) error {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errMySQLURL
	}
	for name := range q {
		switch name {
		case "tls", "tls-ca", "tls-cert", "tls-key":
		case "socket":
			c.Net, c.Addr = "unix", q.Get(name)
		default:
			return fmt.Errorf("the address has a parameter %s: supported are socket, tls, tls-ca, tls-cert and tls-key", name)
		}
	}
	if c.Net == "tcp" && u.Hostname() == "" {
		return errMySQLURL
	}
	return mysqlTLS(c, u.Hostname(), q)
}

func mysqlTLS(c *mysql.Config, host string, q url.Values) error {
	ca, cert, key := q.Get("tls-ca"), q.Get("tls-cert"), q.Get("tls-key")
	mode := q.Get("tls")
	if mode == "" {
		mode = "preferred"
		if ca+cert != "" {
			mode = "true"
		}
	}
	switch mode {
	case "preferred":
		c.TLSConfig = mode
		if c.Net == "unix" {
			c.TLSConfig = "false"
		}
	case "false", "true", "skip-verify":
		c.TLSConfig = mode
	default:
		return fmt.Errorf("tls is %q: use preferred, true, skip-verify or false", mode)
	}
	if mode == "preferred" || mode == "false" || ca+cert == "" {
		return nil
	}
	c.TLS = &tls.Config{ServerName: host, InsecureSkipVerify: mode == "skip-verify", MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return fmt.Errorf("tls-ca: %w", err)
		}
		c.TLS.RootCAs = x509.NewCertPool()
		if !c.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls-ca: %s holds no certificate", ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("tls-cert and tls-key: %w", err)
		}
		c.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// MySQLBegin returns the texts that begin a writing transaction, in READ COMMITTED, and one
// that reads one snapshot, both in mysqlMode, UTF-8 and UTC. Each returns the time in microseconds
// since 1970. Statements, waits for locks and pauses are limited, in whole seconds. MySQL
// does not limit statements that write.
func MySQLBegin(statement, lock time.Duration) (write, read string) {
	seconds := func(d time.Duration) int64 { return int64(max(1, (d+time.Second-1)/time.Second)) }
	// A server may overrule the character set of the connection (init_connect, skip-character-set-client-handshake).
	settings := fmt.Sprintf("SET NAMES utf8mb4 COLLATE utf8mb4_bin; SET SESSION sql_mode = '%s', time_zone = '+00:00', innodb_lock_wait_timeout = %d, lock_wait_timeout = %d, wait_timeout = %d, "+
		"group_concat_max_len = 1073741824, sql_select_limit = 18446744073709551615 /*M! , max_statement_time = %g */ /*!80000 , max_execution_time = %d */; ",
		mysqlMode, seconds(lock), seconds(lock), seconds(statement), statement.Seconds(), max(1, statement.Milliseconds()))
	const time = "; SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', SYSDATE(6))"
	return settings + "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION" + time,
		settings + "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; START TRANSACTION WITH CONSISTENT SNAPSHOT" + time
}

// MySQLAllow returns the text that limits the time of a transaction's further statements; 0
// removes the limit.
func MySQLAllow(d time.Duration) string {
	return fmt.Sprintf("SET SESSION net_write_timeout = 3600 /*M! , max_statement_time = %g */ /*!80000 , max_execution_time = %d */", d.Seconds(), d.Milliseconds())
}
