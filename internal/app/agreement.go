package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
)

// agreement compares the settings that instances of one ledger must have in common.
// It is safe for concurrent use.
type agreement struct {
	mu   sync.Mutex
	own  map[string]string // part of the configuration -> digest
	told map[string]bool
}

// aliveWithin is the maximum age of the last heartbeat of an instance that is
// compared with. Instances send one every instanceBeat.
const aliveWithin = time.Minute

// digestsOf returns the digests of the parts of a configuration that instances have
// to agree on. They contain no secrets.
func digestsOf(c *config.Config) (map[string]string, error) {
	type place struct{ Name, Kind, Endpoint, Bucket, Prefix string }
	var places []place
	for _, b := range c.Backends {
		p := place{Name: b.Name, Kind: b.Kind}
		if b.Kind == "s3" {
			p.Endpoint, p.Bucket, p.Prefix = b.S3.Endpoint, b.S3.Bucket, b.S3.Prefix
		}
		places = append(places, p)
	}
	rules, err := c.LifecycleRules()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for part, v := range map[string]any{
		"backends": places, "placement": c.Placement, "reclaim.grace": c.Reclaim.Grace, "lifecycle": rules,
	} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("digest of %s: %w", part, err)
		}
		sum := sha256.Sum256(text)
		out[part] = hex.EncodeToString(sum[:8])
	}
	return out, nil
}

// set takes the configuration of this instance, and forgets what was logged.
func (a *agreement) set(c *config.Config) error {
	digests, err := digestsOf(c)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own, a.told = digests, map[string]bool{}
	return nil
}

// digests returns those of this instance.
func (a *agreement) digests() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.own)
}

// news returns the parts in which instances differ from this one, with their names,
// that were not logged yet. An instance without a digest of a part, such as an
// older one, does not differ in it.
func (a *agreement) news(self string, others []ledger.Instance) map[string][]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string][]string{}
	for _, i := range others {
		for part, digest := range a.own {
			theirs := i.Info.Digests[part]
			key := part + " " + i.ID + " " + theirs
			if i.ID == self || theirs == "" || theirs == digest || a.told[key] {
				continue
			}
			a.told[key] = true
			out[part] = append(out[part], i.ID)
		}
	}
	return out
}

// compare warns if other instances have another configuration where all need the
// same. Each difference is logged once.
func (a *App) compare(ctx context.Context) {
	list, err := a.Ledger.Instances(ctx, aliveWithin)
	if err != nil {
		if ctx.Err() == nil {
			a.opt.Log.Debug("this instance could not read the configuration of the others", "error", err)
		}
		return
	}
	news := a.agreement.news(a.worker, list)
	for _, part := range slices.Sorted(maps.Keys(news)) {
		a.opt.Log.Warn("instances that share this ledger differ in settings that must be the same; "+
			"compare the output of \"lethe config print\" on each, and use the same everywhere", "part", part, "others", news[part])
	}
}
