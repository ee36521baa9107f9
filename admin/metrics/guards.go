package metrics

import (
	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/meta"
)

var (
	holds       = gauge("holds", "Holds on buckets, prefixes and objects: what they cover is not deleted.")
	stops       = gauge("stops", "Buckets or backends of which a limit on deletions, or a clock in doubt, has stopped something.", "kind")
	pace        = gauge("reclaim_pace", "By how many steps this process reclaims more slowly than it could, for its clients, those of others, or the database: 0 at full speed, 4 at the slowest.")
	backendPace = gauge("backend_pace", "By how many steps deleting on the backend is slowed because it takes longer than usual: 0 to 4.", "backend")
	limited     = gauge("backend_limited", "1 while limits hold deleting on the backend back.", "backend")
)

// kinds are those of what can stop.
var kinds = []meta.GuardKind{meta.GuardRules, meta.GuardTTL, meta.GuardPurge, meta.GuardDeletes, meta.GuardClock}

func tellGuards(tell teller, s admin.Status) {
	tell(holds, float64(s.Holds))
	tell(pace, float64(s.Pace))
	n := map[string]int{}
	for _, g := range s.Stops {
		n[g.Kind]++
	}
	for _, k := range kinds {
		tell(stops, float64(n[string(k)]), string(k))
	}
}

func tellPace(tell teller, b admin.BackendStatus) {
	tell(backendPace, float64(b.Pace), b.ID)
	tell(limited, truth(b.Limited), b.ID)
}
