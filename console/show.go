package console

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/safetext"
	"github.com/lethe-storage/lethe/internal/words"
)

// safe returns untrusted text as it can be shown: what is invisible, or would turn the
// direction of writing, is escaped. Templates escape what is markup.
func safe(s string) string { return safetext.Escape(s, safetext.Plain, safetext.JSON) }

// stamp formats an instant. Pages show UTC; the script adds the browser's time.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// machine formats an instant for the attribute of a time element.
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Distances from now and durations are written as commands write them.
var (
	when = words.When
	span = words.Span
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// instant returns the time of a value of the ledger.
func instant(t lethe.Time) time.Time { return t.Time() }

// counts formats the counts of a run.
func counts(c map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(c)) {
		switch {
		case k == "items":
		case strings.HasSuffix(k, "bytes"):
			parts = append(parts, strings.ReplaceAll(k, "_", " ")+" "+words.Size(c[k]))
		default:
			parts = append(parts, strings.ReplaceAll(k, "_", " ")+" "+words.Number(c[k]))
		}
	}
	if len(parts) == 0 && c["items"] > 0 {
		return "items " + words.Number(c["items"])
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing to do")
}

// link returns an address of the console. Names of objects are parameters, so that any
// key does.
func link(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// objectURL is the page of an object.
func objectURL(bucket, key string) string { return link("/object", "bucket", bucket, "key", key) }

// s3Name writes an object as commands do.
func s3Name(bucket, key string) string { return "s3://" + bucket + "/" + key }
