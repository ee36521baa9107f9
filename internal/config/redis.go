package config

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

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

func (r Redis) validate(p *Problems) {
	p.check(r.URL.IsZero() || isServiceURL(r.URL.Reveal(), "redis", "rediss"), "redis.url",
		"is no address of a Redis; use one such as redis://cache.example.org:6379/0, or rediss:// for TLS")
	p.check(slices.Contains([]string{"single", "cluster", "sentinel"}, r.Kind), "redis.kind",
		"%q is not known; use single, cluster or sentinel", yamlfile.Brief(r.Kind))
	p.check(r.Timeout >= Duration(time.Millisecond) && r.Timeout <= Duration(10*time.Second), "redis.timeout", "is %s; use 1ms to 10s", r.Timeout)
	p.check(r.MaxValue >= 1 && r.MaxValue <= 512*mib, "redis.max_value", "is %s; use 1B to 512MiB", r.MaxValue)
	p.check(r.PasswordFile == "" || r.On(), "redis.password_file", "is set without redis.url; set that too, or leave this out")
}
