package config

import (
	"github.com/lethe-storage/lethe/internal/yamlfile"
)

// Placement selects the backends of contents.
type Placement struct {
	Strategy  string  `yaml:"strategy"` // pack, spread
	Replicas  int     `yaml:"replicas"`
	Threshold float64 `yaml:"threshold"` // difference of used ratios that rebalancing leaves
	MaxMove   Size    `yaml:"max_move"`  // by one pass of rebalancing
	Rate      Size    `yaml:"rate"`      // bytes copied per second; 0: no limit
}

const maxReplicas = 16

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
