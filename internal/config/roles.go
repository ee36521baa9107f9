package config

import (
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe/internal/yamlfile"
)

// Roles of a process.
const (
	RoleServe   = "serve"   // S3 and pastes
	RoleReclaim = "reclaim" // the routines
)

// Has reports whether the process has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

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
