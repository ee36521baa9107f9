package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/yamlfile"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	maxBatch      = 1000 // rows per transaction and keys per backend call
	maxWorkers    = 64
	maxMemoryBody = 64 * mib
	maxPaste      = 64 * mib
	maxPart       = 5 << 30 // S3's largest part, in bytes
	maxUnixPath   = 100     // bytes; the kernel's limit is 107

	// minSharedBeat is the shortest reclaim.grace.heartbeat on PostgreSQL. Half of it bounds the questions of
	// a beat: one that is cut off costs its connection, and each beat would make new ones.
	minSharedBeat = Duration(100 * time.Millisecond)
)

var (
	accessKeyForm = regexp.MustCompile(`^[A-Za-z0-9._-]{3,128}$`)
	bucketForm    = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	nameForm      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	regionForm    = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	domainForm    = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// Validate returns everything that is wrong, each with what to do, as Problems.
// It checks only values, not files or the network.
func (c *Config) Validate() error {
	var p Problems
	p.check(c.DataDir != "", "data_dir", "is empty; name a folder such as ./lethe-data")
	c.validateRoles(&p)
	c.Root.validate(&p)
	c.Database.validate(&p)
	c.Redis.validate(&p)
	c.validateListeners(&p)
	c.Server.validate(&p)
	c.Store.validate(&p)
	c.Cache.validate(&p)
	c.Paste.validate(&p)
	c.Console.validate(&p)
	c.validateBackends(&p)
	c.validatePlacement(&p)
	c.validateLifecycle(&p)
	c.Reclaim.validate(&p)
	beat := c.Reclaim.Grace.Heartbeat
	p.check(!c.Database.On() || beat <= 0 || beat >= minSharedBeat, "reclaim.grace.heartbeat",
		"is %s; use at least %s with PostgreSQL, which has half of it to answer", beat, minSharedBeat)
	c.Events.validate(&p)
	c.Tracing.validate(&p)
	p.check(slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level), "log.level",
		"%q is not known; use debug, info, warn or error", yamlfile.Brief(c.Log.Level))
	p.check(slices.Contains([]string{"auto", "text", "json"}, c.Log.Format), "log.format",
		"%q is not known; use auto, text or json", yamlfile.Brief(c.Log.Format))
	return p.err()
}

func (r Root) validate(p *Problems) {
	if r.AccessKey == "" && r.Secret.IsZero() {
		return
	}
	p.check(accessKeyForm.MatchString(r.AccessKey), "root.access_key",
		"%q does not do; use 3 to 128 letters, digits, or any of . _ -, or leave both root keys out", yamlfile.Brief(r.AccessKey))
	p.check(len(r.Secret.Reveal()) >= 8, "root.secret",
		"is missing or shorter than 8 characters; set LETHE_ROOT_SECRET, or leave both root keys out")
}

// listeners returns the listeners by key.
func (c *Config) listeners() []struct {
	key string
	Listener
} {
	s := c.Server
	return []struct {
		key string
		Listener
	}{{"server.s3", s.S3}, {"server.paste", s.Paste}, {"server.admin", s.Admin}, {"server.metrics", s.Metrics}, {"server.console", s.Console}}
}

func (c *Config) validateListeners(p *Problems) {
	taken := map[string]string{}
	for _, l := range c.listeners() {
		l.validate(p, l.key)
		other, again := taken[l.Listen]
		p.check(!again || l.Off() || strings.HasSuffix(l.Listen, ":0"), l.key+".listen",
			"%s is the address of %s already; give each its own", yamlfile.Brief(l.Listen), other)
		taken[l.Listen] = l.key
	}
	for _, key := range []string{"s3", "admin"} {
		l := c.Server.S3
		if key == "admin" {
			l = c.Server.Admin
		}
		p.check(!l.Off(), "server."+key+".listen", "cannot be off; give it an address")
	}
	path, unix := c.Server.Admin.Unix()
	p.check(!unix || len(c.InDataDir(path)) <= maxUnixPath, "server.admin.listen",
		"the path of the socket has more than %d bytes, which the system does not take; name a shorter one such as unix:/run/lethe/admin.sock", maxUnixPath)
}

func (l Listener) validate(p *Problems, key string) {
	if path, unix := l.Unix(); unix {
		p.check(key == "server.admin" && path != "", key+".listen",
			"%q is no address here; use host:port such as 127.0.0.1:9000 (unix: and a path is for server.admin)", yamlfile.Brief(l.Listen))
	} else if !l.Off() {
		p.check(isHostPort(l.Listen), key+".listen", "%q is no address; use host:port such as 127.0.0.1:9000", yamlfile.Brief(l.Listen))
	}
	p.check(l.PublicURL == "" || isBaseURL(l.PublicURL), key+".public_url",
		"%q is no address of a site; use a URL such as https://s3.example.org, without ? and #", yamlfile.Brief(l.PublicURL))
	p.check((l.TLS.Cert == "") == (l.TLS.Key == ""), key+".tls", "only one of cert and key is set; set both, or none for no TLS")
}

func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.ParseUint(port, 10, 16)
	return err == nil && perr == nil && strconv.FormatUint(n, 10) == port && !strings.ContainsAny(host, " /\x00")
}

// isBaseURL reports whether s is an http(s) URL to which a path can be added.
func isBaseURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && !strings.Contains(s, "#")
}

// ownerships are S3's.
var ownerships = []string{"BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"}

func (s Server) validate(p *Problems) {
	p.check(regionForm.MatchString(s.Region), "server.region", "%q does not do; use a name such as us-east-1", yamlfile.Brief(s.Region))
	p.check(s.Domain == "" || len(s.Domain) <= 253 && domainForm.MatchString(s.Domain), "server.domain",
		"%q is no domain; use one such as s3.example.org, in lower case and without a port", yamlfile.Brief(s.Domain))
	p.check(s.RateLimit.RequestsPerSecond >= 0, "server.rate_limit.requests_per_second", "is negative; use 0 for no limit")
	p.check(s.RateLimit.Burst >= 1, "server.rate_limit.burst", "is %d; use at least 1", s.RateLimit.Burst)
	p.check(s.MaxConnections >= 1, "server.max_connections", "is %d; use at least 1", s.MaxConnections)
	p.check(s.MaxPerAddress >= 0, "server.max_connections_per_address", "is %d; use 0 for no limit", s.MaxPerAddress)
	p.check(s.MinBodyRate >= 0, "server.min_body_rate", "is negative; use none for no limit")
	p.check(s.DrainTimeout > 0, "server.drain_timeout", "is none; use for example 30s")
	p.check(s.AccountBuckets >= 0, "server.account_buckets", "is %d; use 0 for any number", s.AccountBuckets)
	p.check(slices.Contains(ownerships, s.Ownership), "server.object_ownership", "is %q; use one of %v", yamlfile.Brief(s.Ownership), ownerships)
	origin := s.CORS.DefaultOrigin
	u, err := url.Parse(origin)
	p.check(origin == "" || origin == "*" || err == nil && isBaseURL(origin) && u.Path == "", "server.cors.default_origin",
		"%q is no origin; use one such as https://app.example.org, without a path, or *", yamlfile.Brief(origin))
}

func (s Store) validate(p *Problems) {
	p.check(s.MinPartSize >= 1 && s.MinPartSize <= maxPart, "store.min_part_size", "is %s; use 1B to 5GiB", s.MinPartSize)
	p.check(s.Inline == InlineAuto || s.Inline >= 0 && s.Inline <= ledger.MaxInline, "store.inline", "is %s; use at most %s, or none", s.Inline, Size(ledger.MaxInline))
	p.check(s.MemoryBody >= 0 && s.MemoryBody <= maxMemoryBody, "store.memory_body",
		"is %s; use at most 64MiB, as every upload under way takes that much memory", s.MemoryBody)
	b := s.NewBuckets
	p.check(b.MaxTTL == 0 || b.DefaultTTL <= b.MaxTTL, "store.new_buckets.default_ttl",
		"%s is longer than max_ttl, %s; make it shorter, or max_ttl longer", b.DefaultTTL, b.MaxTTL)
	for name, d := range map[string]Duration{"default_idle": b.DefaultIdle, "max_idle": b.MaxIdle} {
		p.check(d == 0 || d.Std() >= lethe.MinIdle, "store.new_buckets."+name, "is %s; use at least %s, or none", d, lethe.FormatTTL(lethe.MinIdle))
	}
	p.check(b.MaxIdle == 0 || b.DefaultIdle <= b.MaxIdle, "store.new_buckets.default_idle",
		"%s is longer than max_idle, %s; make it shorter, or max_idle longer", b.DefaultIdle, b.MaxIdle)
	p.check(b.Quota >= 0, "store.new_buckets.quota", "is negative; use none for no limit")
	p.check(b.MaxObjects >= 0, "store.new_buckets.max_objects", "is negative; use 0 for no limit")
}

func (c Cache) validate(p *Problems) {
	if c.Size == 0 {
		return
	}
	p.check(c.Size >= 1*mib, "cache.size", "is %s; use at least 1MiB, or none for no cache", c.Size)
	p.check(c.MaxValue >= 1 && c.MaxValue <= max(c.Size, 1*mib) && c.MaxValue < 2<<30, "cache.max_value",
		"is %s; use something between 1B and cache.size (%s), below 2GiB", c.MaxValue, c.Size)
	p.check(c.TTL > 0, "cache.ttl", "is none; use for example 1h, or cache.size: none for no cache")
}

func (s Paste) validate(p *Problems) {
	p.check(bucketForm.MatchString(s.Bucket) && !strings.Contains(s.Bucket, ".."), "paste.bucket",
		"%q is no name of a bucket; use 3 to 63 lower-case letters, digits and dashes", yamlfile.Brief(s.Bucket))
	p.check(s.MissesPerMinute >= 0, "paste.misses_per_minute", "is negative; use 0 for no limit")
	p.check(s.MaxSize >= 1 && s.MaxSize <= maxPaste, "paste.max_size", "is %s; use 1B to 64MiB", s.MaxSize)
	p.check(s.MaxTTL == 0 || s.DefaultTTL <= s.MaxTTL, "paste.default_ttl",
		"%s is longer than max_ttl, %s; make it shorter, or max_ttl longer", s.DefaultTTL, s.MaxTTL)
}

func (c Console) validate(p *Problems) {
	for _, h := range c.Hosts {
		p.check(domainForm.MatchString(h) || net.ParseIP(h) != nil, "console.hosts",
			"%q is no host; use a name such as lethe.example.org, in lower case and without a port, or an address", yamlfile.Brief(h))
	}
	p.check(c.Idle > 0, "console.idle", "is none; use for example 30m")
	p.check(c.Lifetime >= c.Idle, "console.lifetime", "is %s, shorter than console.idle, %s; make it longer", c.Lifetime, c.Idle)
}

func (r *Reclaim) validate(p *Problems) {
	for _, n := range r.Routines() {
		key := "reclaim." + n.Name
		p.check(!n.Schedule.IsZero(), key+".schedule", "is missing; use for example every 1m")
		p.check(n.Batch >= 1 && n.Batch <= maxBatch, key+".batch", "is %d; use 1 to %d", n.Batch, maxBatch)
		p.check(n.RatePerSecond >= 0, key+".rate_per_second", "is negative; use 0 for no limit")
		p.check(n.Workers >= 1 && n.Workers <= maxWorkers, key+".workers", "is %d; use 1 to %d", n.Workers, maxWorkers)
	}
	r.Orphans.validate(p)
	r.Limits.validate(p)
	g := r.Grace
	for _, d := range []struct {
		key string
		Duration
	}{
		{"min_age", g.MinAge}, {"late_window", g.LateWindow}, {"read_grace", g.ReadGrace}, {"moved_grace", g.MovedGrace},
		{"claim_grace", g.ClaimGrace}, {"multipart_stale", g.MultipartStale},
		{"backoff_min", g.BackoffMin}, {"backoff_max", g.BackoffMax}, {"ops_kept", g.OpsKept},
		{"orphan_grace", g.OrphanGrace},
		{"plan_age", g.PlanAge}, {"heartbeat", g.Heartbeat}, {"clock_jump", g.ClockJump},
	} {
		p.check(d.Duration > 0, "reclaim.grace."+d.key, "is none; use at least 1us")
	}
	p.check(g.BackoffMin <= g.BackoffMax, "reclaim.grace.backoff_min",
		"%s is longer than backoff_max, %s; make it shorter, or backoff_max longer", g.BackoffMin, g.BackoffMax)
	p.check(r.Yield == 0 || r.Yield >= 1 && r.Yield <= 1000, "reclaim.yield", "is %g; use 0, or 1 to 1000", r.Yield)
	p.check(r.Load == 0 || r.Load >= 1 && r.Load <= 1000, "reclaim.load", "is %g; use 0, or 1 to 1000", r.Load)
	r.Rates.validate(p, "reclaim.rates")
	p.check(g.Attempts >= 1, "reclaim.grace.attempts", "is %d; use at least 1", g.Attempts)
}

// isServiceURL reports whether s is a URL of one of the schemes, with a host.
func isServiceURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(schemes, u.Scheme) && (u.Hostname() != "" || u.Query().Get("host") != "")
}
