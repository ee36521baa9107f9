package config

// Orphans bound what reconcile condemns.
type Orphans struct {
	Most      int     `yaml:"most"`
	MostShare float64 `yaml:"most_share"`
}

// mostOrphans is the greatest Orphans.Most.
const mostOrphans = 100_000_000

func (o Orphans) validate(p *Problems) {
	p.check(o.Most >= 1 && o.Most <= mostOrphans, "reclaim.orphans.most", "is %d; use 1 to %d", o.Most, mostOrphans)
	p.check(o.MostShare > 0 && o.MostShare <= 1, "reclaim.orphans.most_share", "is %g; use a share above 0, up to 1", o.MostShare)
}

// reconciling returns the routine's default: a rate instead of none, because
// its calls go to backends.
func reconciling() Routine {
	r := nightly("0 1 * * *", 1000)
	r.RatePerSecond, r.Workers = 50, 4
	return r
}
