package console

import (
	"fmt"
	"strconv"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// part is a share of a bar: Class colours it.
type part struct {
	Name  string
	Text  string // the value for people
	Value int64
	Class string
}

// slice is a part as it is drawn: where it begins, and how long it is.
type slice struct {
	part
	X, W string
}

// barWidth is the width of a bar in its own units.
const barWidth = 1000

// sliced places the parts of a bar of the given whole, at least their sum.
func sliced(whole int64, parts []part) []slice {
	var sum int64
	for _, p := range parts {
		sum += p.Value
	}
	whole = max(whole, sum, 1)
	var out []slice
	at := 0.0
	for _, p := range parts {
		if p.Value <= 0 {
			continue
		}
		// What there is can be seen, however small its share.
		w := max(float64(p.Value)/float64(whole)*barWidth, 4)
		out = append(out, slice{p, decimal(at), decimal(min(w, barWidth-at))})
		at = min(at+w, barWidth)
	}
	return out
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// blobParts are what a backend holds, by state.
func blobParts(b api.BackendStatus) []part {
	classes := map[lethe.State]string{lethe.Live: "f1", lethe.Pending: "f5", lethe.Condemned: "f3", lethe.Dead: "f4"}
	names := map[lethe.State]string{lethe.Live: "stored", lethe.Pending: "being written", lethe.Condemned: "leaving", lethe.Dead: "dead"}
	var out []part
	for _, state := range []lethe.State{lethe.Live, lethe.Pending, lethe.Condemned, lethe.Dead} {
		st := stateOf(b, state)
		if st.Blobs == 0 && state != lethe.Live {
			continue
		}
		out = append(out, part{names[state], fmt.Sprintf("%s in %s", words.Size(st.Bytes), words.Plural(st.Blobs, "blob", "blobs")), st.Bytes, classes[state]})
	}
	return out
}

// wholeOf is the length of a backend's bar: its quota, or what is on it and free; 0 if neither is known.
func wholeOf(b api.BackendStatus) int64 {
	if b.Quota > 0 || b.Free == nil {
		return b.Quota
	}
	_, used := b.Totals()
	return used + *b.Free
}
