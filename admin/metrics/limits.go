package metrics

import (
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	holds          = gauge("holds", "Holds on buckets, prefixes and objects: what they cover is not deleted.")
	trippedLimits  = gauge("tripped_limits", "Buckets or backends of which a limit on deletions, or a clock in doubt, has stopped something.", "kind")
	backoffLevel   = gauge("reclaim_backoff_level", "By how many levels this process backs off, for the latency of its clients or those of others, or the load of the database: 0 at full speed, 4 at the slowest. A start beside clients is slower as well, and not counted.")
	backendBackoff = gauge("backend_backoff_level", "By how many levels deletes on the backend back off for its load: 0 to 4.", "backend")
	rateLimited    = gauge("backend_rate_limited", "1 while delete rates delay deletes on the backend.", "backend")
)

// kinds are the kinds of deletion limits and clocks in doubt.
var kinds = []ledger.LimitKind{ledger.LimitRules, ledger.LimitTTL, ledger.LimitPurge, ledger.LimitDeletes, ledger.LimitClock}

func tellTrips(tell teller, s api.Status) {
	tell(holds, float64(s.Holds))
	tell(backoffLevel, float64(s.BackoffLevel))
	n := map[string]int{}
	for _, g := range s.Trips {
		n[g.Kind]++
	}
	for _, k := range kinds {
		tell(trippedLimits, float64(n[string(k)]), string(k))
	}
}

func tellBackendBackoff(tell teller, b api.BackendStatus) {
	tell(backendBackoff, float64(b.BackoffLevel), b.ID)
	tell(rateLimited, truth(b.Limited), b.ID)
}
