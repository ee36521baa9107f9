package config

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/internal/yamlfile"
	"github.com/lethe-storage/lethe/ledger"
)

// Roles of a process.
const (
	RoleServe   = "serve"   // S3 and pastes
	RoleReclaim = "reclaim" // the routines
)

// Has reports whether the process has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

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

// Redis is shared by instances besides the database; nothing depends on it.
type Redis struct {
	URL          Secret   `yaml:"url"`
	PasswordFile string   `yaml:"password_file"`
	Kind         string   `yaml:"kind"`      // single, cluster, sentinel
	Timeout      Duration `yaml:"timeout"`   // of every call
	Cache        bool     `yaml:"cache"`     // contents
	MaxValue     Size     `yaml:"max_value"` // larger contents are not held there
	Wake         bool     `yaml:"wake"`      // tell other instances that there is work
	Lock         bool     `yaml:"lock"`      // at most one instance claims at a time
}

// On reports whether Redis is configured.
func (r Redis) On() bool { return !r.URL.IsZero() }

// Placement selects the backends of contents.
type Placement struct {
	Strategy  string  `yaml:"strategy"` // pack, spread
	Replicas  int     `yaml:"replicas"`
	Threshold float64 `yaml:"threshold"` // difference of used ratios that rebalancing leaves
	MaxMove   Size    `yaml:"max_move"`  // by one pass of rebalancing
	Rate      Size    `yaml:"rate"`      // bytes copied per second; 0: no limit
}

// S3 is a bucket of an S3 service, of a backend of kind s3.
type S3 struct {
	Endpoint      string   `yaml:"endpoint"` // empty: AWS
	Region        string   `yaml:"region"`
	Bucket        string   `yaml:"bucket"`
	Prefix        string   `yaml:"prefix"` // before every name; empty or ending in a slash
	AccessKey     string   `yaml:"access_key"`
	SecretKey     Secret   `yaml:"secret_key"`
	SecretKeyFile string   `yaml:"secret_key_file"`
	PathStyle     bool     `yaml:"path_style"`
	CAFile        string   `yaml:"ca_file"`   // PEM, beside the system's
	Timeout       Duration `yaml:"timeout"`   // of a request without a body
	PartSize      Size     `yaml:"part_size"` // of larger blobs' multipart uploads
	MaxBatch      int      `yaml:"max_batch"` // keys per DeleteObjects
	Concurrency   int      `yaml:"concurrency"`
}

// Fill implements yamlfile.Filled.
func (b *Backend) Fill() { b.S3 = defaultS3() }

func defaultS3() S3 {
	return S3{Region: "us-east-1", PathStyle: true, Timeout: Duration(30 * time.Second), PartSize: 16 * mib, MaxBatch: maxBatch, Concurrency: 16}
}

// OrFile returns the secret, or if it is empty the contents of the file at path
// without surrounding white space; without either it is empty.
func (s Secret) OrFile(path string) (Secret, error) {
	if !s.IsZero() || path == "" {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Secret{}, err
	}
	value := strings.TrimSpace(string(text))
	if value == "" {
		return Secret{}, fmt.Errorf("%s is empty", path)
	}
	return NewSecret(value), nil
}

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

// Limits of services.
const (
	maxConnections = 1000
	minS3Part      = 5 * mib // S3's smallest part but the last, in bytes
	maxS3Prefix    = 512     // bytes
	maxReplicas    = 16
)

func (c *Config) validateRoles(p *Problems) {
	both := slices.Contains(c.Roles, RoleServe) && slices.Contains(c.Roles, RoleReclaim)
	p.check(len(c.Roles) != 1 || both || c.Database.On(), "roles",
		"is one of the two without database.url: nobody else could do the other on a ledger in a file; leave roles out, or set database.url")
	p.check(len(c.Roles) > 0, "roles", "there is none; use serve, reclaim or both")
	for i, role := range c.Roles {
		key := fmt.Sprintf("roles[%d]", i)
		p.check(role == RoleServe || role == RoleReclaim, key, "%q is not known; use serve, reclaim or both", yamlfile.Brief(role))
		p.check(!slices.Contains(c.Roles[:i], role), key, "%q stands there twice; leave one out", yamlfile.Brief(role))
	}
}

func (d Database) validate(p *Problems) {
	p.check(d.URL.IsZero() || d.URLFile == "", "database.url_file", "is set as well as database.url; leave one of them out")
	p.check(d.URL.IsZero() || isServiceURL(d.URL.Reveal(), "postgres", "postgresql"), "database.url",
		"is no address of a PostgreSQL database; use one such as postgres://user:password@db.example.org:5432/lethe")
	p.check(schemaForm.MatchString(d.Schema), "database.schema", "%q does not do; use lower-case letters, digits and _, such as lethe", yamlfile.Brief(d.Schema))
	p.check(d.Connections >= 2 && d.Connections <= maxConnections, "database.connections", "is %d; use 2 to %d", d.Connections, maxConnections)
	p.check(d.EngineConnections >= 2 && d.EngineConnections <= maxConnections, "database.engine_connections",
		"is %d; use 2 to %d", d.EngineConnections, maxConnections)
}

func (r Redis) validate(p *Problems) {
	p.check(r.URL.IsZero() || isServiceURL(r.URL.Reveal(), "redis", "rediss"), "redis.url",
		"is no address of a Redis; use one such as redis://cache.example.org:6379/0, or rediss:// for TLS")
	p.check(slices.Contains([]string{"single", "cluster", "sentinel"}, r.Kind), "redis.kind",
		"%q is not known; use single, cluster or sentinel", yamlfile.Brief(r.Kind))
	p.check(r.Timeout >= Duration(time.Millisecond) && r.Timeout <= Duration(10*time.Second), "redis.timeout", "is %s; use 1ms to 10s", r.Timeout)
	p.check(r.MaxValue >= 1 && r.MaxValue <= 512*mib, "redis.max_value", "is %s; use 1B to 512MiB", r.MaxValue)
	p.check(r.PasswordFile == "" || r.On(), "redis.password_file", "is set without redis.url; set that too, or leave this out")
}

// isServiceURL reports whether s is a URL of one of the schemes, with a host.
func isServiceURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(schemes, u.Scheme) && (u.Hostname() != "" || u.Query().Get("host") != "")
}

func (c *Config) validatePlacement(p *Problems) {
	s := c.Placement
	p.check(s.Strategy == "pack" || s.Strategy == "spread", "placement.strategy",
		"%q is not known; use pack (fill backends in their order) or spread (the least filled one)", yamlfile.Brief(s.Strategy))
	p.check(s.Threshold > 0 && s.Threshold <= 1, "placement.threshold", "is %g; use a share between 0 and 1, such as 0.1", s.Threshold)
	p.check(s.MaxMove >= 1, "placement.max_move", "is none; use for example 10GiB, or reclaim.rebalance.enabled: false")
	p.check(s.Replicas >= 1 && s.Replicas <= maxReplicas, "placement.replicas", "is %d; use 1 to %d", s.Replicas, maxReplicas)
	p.check(s.Replicas > maxReplicas || s.Replicas <= max(1, len(c.Backends)), "placement.replicas",
		"is %d, but there are only %d backends; each copy needs its own", s.Replicas, len(c.Backends))
}

func (s S3) validate(p *Problems, key string) {
	p.check(s.Endpoint == "" || isBaseURL(s.Endpoint), key+".endpoint",
		"is no address of an S3 service; use a URL such as https://s3.example.org, without user, ? and #, or none for AWS")
	p.check(regionForm.MatchString(s.Region), key+".region", "%q does not do; use a name such as us-east-1", yamlfile.Brief(s.Region))
	p.check(bucketForm.MatchString(s.Bucket) && !strings.Contains(s.Bucket, ".."), key+".bucket",
		"%q is no name of a bucket; name the bucket that holds the bytes, and nothing else", yamlfile.Brief(s.Bucket))
	p.check(s.Prefix == "" || len(s.Prefix) <= maxS3Prefix && strings.HasSuffix(s.Prefix, "/") && !strings.HasPrefix(s.Prefix, "/") &&
		!strings.Contains(s.Prefix, "//"), key+".prefix", "%q does not do; use none, or one such as lethe/ with a slash at its end", yamlfile.Brief(s.Prefix))
	p.check(s.SecretKey.IsZero() || s.SecretKeyFile == "", key+".secret_key_file", "is set as well as secret_key; leave one of them out")
	secret := !s.SecretKey.IsZero() || s.SecretKeyFile != ""
	p.check(secret == (s.AccessKey != ""), key+".access_key",
		"only one of access_key and secret_key is set; set both, or none to take those of the environment (AWS_ACCESS_KEY_ID, profiles, roles)")
	p.check(s.Timeout >= Duration(time.Second), key+".timeout", "is %s; use at least 1s, such as 30s", s.Timeout)
	p.check(s.PartSize >= minS3Part && s.PartSize <= 512*mib, key+".part_size", "is %s; use 5MiB to 512MiB: up to 16 are held in memory", s.PartSize)
	p.check(s.MaxBatch >= 1 && s.MaxBatch <= maxBatch, key+".max_batch", "is %d; use 1 to %d", s.MaxBatch, maxBatch)
	p.check(s.Concurrency >= 1 && s.Concurrency <= maxConnections, key+".concurrency", "is %d; use 1 to %d", s.Concurrency, maxConnections)
}
