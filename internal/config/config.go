// Package config is the configuration of the lethe command: one YAML file,
// overridden by the environment and by flags, read strictly. lethe.yaml in this
// folder is what "lethe config init" writes, the documentation of every key,
// and its defaults; a test compares it with the types here. The configuration
// is applied in package app.
package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Config has all settings. Default returns a valid one; Validate reports what
// is wrong with one.
type Config struct {
	DataDir   string    `yaml:"data_dir"`
	Roles     []string  `yaml:"roles"` // RoleServe, RoleReclaim
	Root      Root      `yaml:"root"`
	Database  Database  `yaml:"database"`
	Redis     Redis     `yaml:"redis"`
	Server    Server    `yaml:"server"`
	Store     Store     `yaml:"store"`
	Cache     Cache     `yaml:"cache"`
	Paste     Paste     `yaml:"paste"`
	Console   Console   `yaml:"console"`
	Backends  []Backend `yaml:"backends"`
	Placement Placement `yaml:"placement"`
	// Lifecycle are rules of buckets, which then only the configuration changes.
	Lifecycle LifecycleRules `yaml:"lifecycle"`
	Reclaim   Reclaim        `yaml:"reclaim"`
	Receipts  Receipts       `yaml:"receipts"`
	Events    Events         `yaml:"events"`
	Log       Log            `yaml:"log"`
	Tracing   Tracing        `yaml:"tracing"`
}

// Receipts are the settings of receipts of deletions.
type Receipts struct {
	Keep Duration `yaml:"keep"` // 0: none are written
}

// Root is the access key with all rights. If both fields are empty it is
// generated at the first start, and stored in the data directory, or with
// PostgreSQL in the database.
type Root struct {
	AccessKey string `yaml:"access_key"`
	Secret    Secret `yaml:"secret"`
}

// Server is the settings of all listeners.
type Server struct {
	S3             Listener  `yaml:"s3"`
	Paste          Listener  `yaml:"paste"`
	Admin          Listener  `yaml:"admin"`
	Metrics        Listener  `yaml:"metrics"`
	Console        Listener  `yaml:"console"`
	Region         string    `yaml:"region"`
	Domain         string    `yaml:"domain"` // of virtual-host addressing; empty: path style only
	TrustedProxies []Network `yaml:"trusted_proxies"`
	RateLimit      RateLimit `yaml:"rate_limit"`
	MaxConnections int       `yaml:"max_connections"`             // per listener
	MaxPerAddress  int       `yaml:"max_connections_per_address"` // per listener; 0: any number
	MinBodyRate    Size      `yaml:"min_body_rate"`               // bytes a second; 0: none
	DrainTimeout   Duration  `yaml:"drain_timeout"`
	CORS           CORS      `yaml:"cors"`
	Ownership      string    `yaml:"object_ownership"` // of buckets made without one, in S3's words
	AccountBuckets int       `yaml:"account_buckets"`  // that one may own; 0: any number
}

// Listener is one address.
type Listener struct {
	// Listen is host:port, or "unix:" and a path (relative to the data
	// directory), or "off".
	Listen    string `yaml:"listen"`
	PublicURL string `yaml:"public_url"` // how clients reach it; empty: from Listen
	TLS       TLS    `yaml:"tls"`
}

// Off reports whether the listener is disabled.
func (l Listener) Off() bool { return l.Listen == "off" }

// Unix returns the path after "unix:".
func (l Listener) Unix() (path string, ok bool) { return strings.CutPrefix(l.Listen, "unix:") }

// URL is how clients reach the listener, without a slash at its end; empty for a
// unix socket and for one that is off.
func (l Listener) URL() string {
	if _, unix := l.Unix(); unix || l.Off() {
		return ""
	}
	if l.PublicURL != "" {
		return strings.TrimRight(l.PublicURL, "/")
	}
	if l.TLS.On() {
		return "https://" + l.Listen
	}
	return "http://" + l.Listen
}

// TLS names a certificate and its key in PEM; both are reloaded when they
// change.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
}

// On reports whether the listener uses TLS.
func (t TLS) On() bool { return t.Cert != "" }

// RateLimit bounds the requests of one access key, or of one address for
// requests without one.
type RateLimit struct {
	RequestsPerSecond float64 `yaml:"requests_per_second"` // 0: no limit
	Burst             int     `yaml:"burst"`
}

// CORS is for buckets without a CORS configuration of their own.
type CORS struct {
	DefaultOrigin string `yaml:"default_origin"` // empty: none
}

// Store is the settings of stored objects.
type Store struct {
	Undo        Duration   `yaml:"undo"`          // how long deleted objects stay in the trash; 0: no trash
	MinPartSize Size       `yaml:"min_part_size"` // of all parts of a multipart upload but the last
	Inline      InlineSize `yaml:"inline"`        // contents up to here lie in the ledger; 0: none
	MemoryBody  Size       `yaml:"memory_body"`   // bodies up to here are held in memory while hashed
	TrustWindow Duration   `yaml:"trust_window"`  // how long a copy is trusted after it was verified; 0: not at all
	Flush       bool       `yaml:"flush"`         // false for benchmarks only
	HeadCounts  bool       `yaml:"head_counts"`   // a HEAD counts as a read for idle times
	NewBuckets  NewBuckets `yaml:"new_buckets"`
}

// inlineBeside is a size up to which a put into SQLite and its end cost less than half of those
// of a file (bench: small).
const inlineBeside = 4 << 10

// InlineUpTo returns up to which size contents lie in the ledger. By default that is 4 KiB
// where SQLite and the only copy lie in the data folder. PostgreSQL's log, replicas and backups
// would each take the bytes, and copies on other disks and servers are meant to be there.
func (c *Config) InlineUpTo() int64 {
	outside := func(b Backend) bool { return b.Kind != "dir" || !filepath.IsLocal(b.Path) }
	switch {
	case c.Store.Inline != InlineAuto:
		return int64(c.Store.Inline)
	case c.Database.On() || c.Placement.Replicas > 1 || slices.ContainsFunc(c.Backends, outside):
		return 0
	}
	return inlineBeside
}

// NewBuckets is the settings of new buckets; zero means no limit.
type NewBuckets struct {
	DefaultTTL  Duration `yaml:"default_ttl"`
	DefaultIdle Duration `yaml:"default_idle"`
	MaxIdle     Duration `yaml:"max_idle"`
	MaxTTL      Duration `yaml:"max_ttl"`
	Quota       Size     `yaml:"quota"`
	MaxObjects  int64    `yaml:"max_objects"`
}

// Cache is the content cache; Redis.Cache adds a shared one.
type Cache struct {
	Size     Size     `yaml:"size"` // 0: no cache
	MaxValue Size     `yaml:"max_value"`
	TTL      Duration `yaml:"ttl"`
}

// Paste is the paste service; its address is in Server.Paste.
type Paste struct {
	Enabled    bool     `yaml:"enabled"`
	Bucket     string   `yaml:"bucket"`
	MaxSize    Size     `yaml:"max_size"`
	DefaultTTL Duration `yaml:"default_ttl"`
	MaxTTL     Duration `yaml:"max_ttl"`
	// MissesPerMinute bounds the requests of one address for missing pastes; 0
	// is no limit.
	MissesPerMinute int `yaml:"misses_per_minute"`
}

// Console is the operator's pages; their address is in Server.Console.
type Console struct {
	Enabled bool `yaml:"enabled"`
	// Hosts are names by which browsers reach it, besides those of Server.Console.
	Hosts    []string `yaml:"hosts"`
	Idle     Duration `yaml:"idle"`     // after which a session ends
	Lifetime Duration `yaml:"lifetime"` // of a session
}

// Backend is a place that stores bytes.
type Backend struct {
	Name  string `yaml:"name"`
	Kind  string `yaml:"kind"`  // "dir", "s3"
	Path  string `yaml:"path"`  // of a dir, relative to the data directory
	Quota Size   `yaml:"quota"` // 0: what the disk holds
	// MultipartStale applies to uploads with parts here; 0 means
	// reclaim.grace.multipart_stale.
	MultipartStale Duration `yaml:"multipart_stale"`
	S3             S3       `yaml:"s3"`
	// Rates bound the deletes of all instances together.
	Rates DeleteRates `yaml:"rates"`
}

// Reclaim is the engine's routines and grace periods.
type Reclaim struct {
	Expire    Routine        `yaml:"expire"`
	Evict     Routine        `yaml:"evict"`
	Clean     Routine        `yaml:"clean"`
	Reap      Routine        `yaml:"reap"`
	Multipart Routine        `yaml:"multipart"`
	Lifecycle Routine        `yaml:"lifecycle"`
	Purge     Routine        `yaml:"purge"`
	Deliver   Routine        `yaml:"deliver"`
	Watch     Routine        `yaml:"watch"`
	Receipts  Routine        `yaml:"receipts"`
	Verify    Routine        `yaml:"verify"`
	Checksums Routine        `yaml:"checksums"`
	Replicate Routine        `yaml:"replicate"`
	Drain     Routine        `yaml:"drain"`
	Rebalance Routine        `yaml:"rebalance"`
	Survey    Routine        `yaml:"survey"`
	Inline    Routine        `yaml:"inline"`
	Reconcile Routine        `yaml:"reconcile"`
	Recount   Routine        `yaml:"recount"`
	Usage     Routine        `yaml:"usage"`
	Orphans   Orphans        `yaml:"orphans"`
	Yield     float64        `yaml:"yield"` // 0: never slow down for clients
	Load      float64        `yaml:"load"`  // 0: never slow down for database or backends
	Rates     DeleteRates    `yaml:"rates"` // of all backends and instances together
	Limits    DeletionLimits `yaml:"limits"`
	Grace     Grace          `yaml:"grace"`
}

// Routine is one routine of the engine.
type Routine struct {
	Enabled       bool     `yaml:"enabled"`
	Schedule      Schedule `yaml:"schedule"`
	Batch         int      `yaml:"batch"`           // items per transaction
	RatePerSecond int      `yaml:"rate_per_second"` // items; 0: no limit
	Workers       int      `yaml:"workers"`
}

// Routines returns the routines by name, in the order in which one call runs them.
func (r *Reclaim) Routines() []NamedRoutine {
	return []NamedRoutine{
		{"lifecycle", r.Lifecycle}, // before expire, which removes what rules end
		{"expire", r.Expire}, {"evict", r.Evict}, {"clean", r.Clean}, {"reap", r.Reap}, {"multipart", r.Multipart}, {"purge", r.Purge},
		{"deliver", r.Deliver},
		{"watch", r.Watch}, {"receipts", r.Receipts}, {"verify", r.Verify}, {"checksums", r.Checksums},
		{"replicate", r.Replicate}, {"drain", r.Drain}, {"rebalance", r.Rebalance}, {"survey", r.Survey}, {"inline", r.Inline},
		{"reconcile", r.Reconcile},
		{"recount", r.Recount}, {"usage", r.Usage},
	}
}

// NamedRoutine is a Routine with the name of its key.
type NamedRoutine struct {
	Name string
	Routine
}

// Grace has the grace periods and bounds of the engine.
type Grace struct {
	MinAge         Duration `yaml:"min_age"`
	LateWindow     Duration `yaml:"late_window"`
	ReadGrace      Duration `yaml:"read_grace"`
	MovedGrace     Duration `yaml:"moved_grace"`
	ClaimGrace     Duration `yaml:"claim_grace"`
	MultipartStale Duration `yaml:"multipart_stale"`
	BackoffMin     Duration `yaml:"backoff_min"`
	BackoffMax     Duration `yaml:"backoff_max"`
	Attempts       int      `yaml:"attempts"`
	OrphanGrace    Duration `yaml:"orphan_grace"`
	OpsKept        Duration `yaml:"ops_kept"`
	PlanAge        Duration `yaml:"plan_age"`
	Heartbeat      Duration `yaml:"heartbeat"`
	ClockJump      Duration `yaml:"clock_jump"`
}

// Log is the settings of the log.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // auto, text, json
}

// InDataDir returns path itself if it is absolute, else below the data
// directory.
func (c *Config) InDataDir(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.DataDir, path)
}
