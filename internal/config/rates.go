package config

// DeleteRates bound deletes on backends; 0 is no limit.
type DeleteRates struct {
	DeletesPerSecond int `yaml:"deletes_per_second"`
	CallsPerSecond   int `yaml:"calls_per_second"`
	Concurrency      int `yaml:"concurrency"`
}

func (l DeleteRates) validate(p *Problems, key string) {
	for _, n := range []struct {
		name  string
		value int
	}{{"deletes_per_second", l.DeletesPerSecond}, {"calls_per_second", l.CallsPerSecond}, {"concurrency", l.Concurrency}} {
		p.check(n.value >= 0, key+"."+n.name, "is %d; use 0 for no limit, or more", n.value)
	}
}
