package config

// DeletionLimits bound deletions, so that a wrong rule or a wrong clock stops by
// itself.
type DeletionLimits struct {
	Rules   DeletionLimit `yaml:"rules"`
	TTL     DeletionLimit `yaml:"ttl"`
	Purge   DeletionLimit `yaml:"purge"`
	Deletes DeletionLimit `yaml:"deletes"`
	PerRun  RunLimits     `yaml:"per_run"`
}

// RunLimits bound what one run of a routine takes; 0 is no limit.
type RunLimits struct {
	Expire    int64 `yaml:"expire"`    // objects
	Evict     int64 `yaml:"evict"`     // objects
	Purge     int64 `yaml:"purge"`     // trash entries
	Clean     int64 `yaml:"clean"`     // blobs
	Reap      int64 `yaml:"reap"`      // intents
	Multipart int64 `yaml:"multipart"` // uploads
	Lifecycle int64 `yaml:"lifecycle"` // uploads
}

// Of returns the limit of a routine, 0 if it has none.
func (l RunLimits) Of(routine string) int64 {
	return map[string]int64{
		"expire": l.Expire, "evict": l.Evict, "purge": l.Purge, "clean": l.Clean, "reap": l.Reap, "multipart": l.Multipart, "lifecycle": l.Lifecycle,
	}[routine]
}

// DeletionLimit bounds the deletions of one kind within an hour; 0 is no limit.
type DeletionLimit struct {
	Share   int   `yaml:"share"` // percent
	Floor   int64 `yaml:"floor"`
	Ask     int64 `yaml:"ask"`
	PerHour int64 `yaml:"per_hour"`
}

// defaultDeletionLimits bound only what rules expire: the rest was requested by
// clients.
func defaultDeletionLimits() DeletionLimits {
	return DeletionLimits{Rules: DeletionLimit{Share: 50, Floor: 1000}}
}

func (l DeletionLimits) validate(p *Problems) {
	r := l.PerRun
	p.check(min(r.Expire, r.Evict, r.Purge, r.Clean, r.Reap, r.Multipart, r.Lifecycle) >= 0, "reclaim.limits.per_run", "has a number below 0; use 0 for no limit")
	for _, x := range []struct {
		key string
		DeletionLimit
	}{{"rules", l.Rules}, {"ttl", l.TTL}, {"purge", l.Purge}, {"deletes", l.Deletes}} {
		key := "reclaim.limits." + x.key
		p.check(x.Share >= 0 && x.Share <= 100, key+".share", "is %d; use 1 to 100 percent, or 0 for no limit", x.Share)
		p.check(min(x.Floor, x.Ask, x.PerHour) >= 0, key, "has a number below 0; use 0 for no limit")
		p.check(x.key != "purge" || x.Share == 0, key+".share", "is %d; the trash has no share, use ask or per_hour", x.Share)
	}
}
