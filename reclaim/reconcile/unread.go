package reconcile

import (
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// UnreadBackends returns the backends on which the ledger has blobs and that are not among the
// stores, by id, with the blobs of all states: no walk comes to them.
func UnreadBackends(totals []ledger.Total, stores map[string]blob.Store) (out []ledger.Total) {
	for _, t := range totals {
		if t.Backend == ledger.InLedger || t.Blobs == 0 || stores[t.Backend] != nil {
			continue
		}
		i := slices.IndexFunc(out, func(o ledger.Total) bool { return o.Backend == t.Backend })
		if i < 0 {
			out = append(out, ledger.Total{Backend: t.Backend})
			i = len(out) - 1
		}
		out[i].Blobs += t.Blobs
		out[i].Bytes += t.Bytes
	}
	slices.SortFunc(out, func(a, b ledger.Total) int { return strings.Compare(a.Backend, b.Backend) })
	return out
}
