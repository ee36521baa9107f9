package config

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/lethe-storage/lethe/internal/yamlfile"
	"github.com/lethe-storage/lethe/ledger"
)

// Database is the ledger's database: without a URL SQLite in the data
// directory, for one process; else PostgreSQL, which instances share.
type Database struct {
	URL     Secret `yaml:"url"`
	URLFile string `yaml:"url_file"`
	// SealingKeyFile has the keys that seal secrets in the database, SQLite's
	// as well.
	SealingKeyFile string `yaml:"sealing_key_file"`
	Schema         string `yaml:"schema"` // of the ledger's tables
	// Pooler reports that the URL leads through a transaction-mode pooler,
	// which has no prepared statements and no session settings. Otherwise that
	// is detected.
	Pooler            bool     `yaml:"pooler"`
	Connections       int      `yaml:"connections"`        // for requests
	EngineConnections int      `yaml:"engine_connections"` // for routines
	Wait              Duration `yaml:"wait"`               // how long a start waits for it
}

// On reports whether the ledger is in PostgreSQL.
func (d Database) On() bool { return !d.URL.IsZero() || d.URLFile != "" }

// SealingKeys reads the sealing keys, the one that seals first. Without a file there
// are none.
func (d Database) SealingKeys() (keys [][]byte, err error) {
	text, err := Secret{}.OrFile(d.SealingKeyFile)
	if err != nil {
		return nil, fmt.Errorf("database.sealing_key_file: %w", err)
	}
	for i, line := range strings.Split(text.Reveal(), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(key) != ledger.SealingKeySize {
			return nil, fmt.Errorf("database.sealing_key_file: line %d of %s is no key of %d bytes in base64; \"openssl rand -base64 32\" makes one",
				i+1, d.SealingKeyFile, ledger.SealingKeySize)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 && d.SealingKeyFile != "" {
		return nil, fmt.Errorf("database.sealing_key_file: %s holds no key; \"openssl rand -base64 32\" makes one", d.SealingKeyFile)
	}
	return keys, nil
}

var schemaForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// maxConnections is the most connections to one service.
const maxConnections = 1000

func (d Database) validate(p *Problems) {
	p.check(d.URL.IsZero() || d.URLFile == "", "database.url_file", "is set as well as database.url; leave one of them out")
	p.check(d.URL.IsZero() || isServiceURL(d.URL.Reveal(), "postgres", "postgresql"), "database.url",
		"is no address of a PostgreSQL database; use one such as postgres://user:password@db.example.org:5432/lethe")
	p.check(schemaForm.MatchString(d.Schema), "database.schema", "%q does not do; use lower-case letters, digits and _, such as lethe", yamlfile.Brief(d.Schema))
	p.check(d.Connections >= 2 && d.Connections <= maxConnections, "database.connections", "is %d; use 2 to %d", d.Connections, maxConnections)
	p.check(d.EngineConnections >= 2 && d.EngineConnections <= maxConnections, "database.engine_connections",
		"is %d; use 2 to %d", d.EngineConnections, maxConnections)
}
