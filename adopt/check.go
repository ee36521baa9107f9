package adopt

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
)

// Finding is what a check of a collection found.
type Finding struct {
	// Problem prevents the collection from reclaiming; other findings are
	// advice.
	Problem bool
	What    string
	// Do is the remedy: a statement, a setting, or several, one a line. It is
	// empty if nothing has to be done.
	Do string
}

// ToGrant returns the remedy where the user of the database lacks rights.
func ToGrant(grants []string) string {
	return "let the owner of the tables, or a superuser, run:\n" + strings.Join(grants, ";\n") + ";"
}

// Problems reports whether one of the findings is a problem.
func Problems(findings []Finding) bool {
	for _, f := range findings {
		if f.Problem {
			return true
		}
	}
	return false
}

// Stater looks at objects; a blob.Store is one.
type Stater interface {
	Stat(ctx context.Context, key string) (blob.Info, error)
}

// Sampled is objects that a database names, compared with the bucket.
type Sampled struct {
	Kind         Kind // of the collection
	Named, Found int
	Outside      []string // keys that are not below the prefix
	Odd          []string // keys that services interpret differently
	Missing      string   // one that the bucket does not have
	Spelled      string   // one that it has instead of such a key, in another spelling
}

// sampled returns how many objects were sampled.
func (s Sampled) sampled() string {
	return words.Plural(int64(s.Named), "sampled object", "sampled objects")
}

// source names what in the description gives the keys, as the beginning of a remedy.
func (s Sampled) source() string {
	if s.Kind == OfKeys {
		return "correct the query (keys.query)"
	}
	return "correct the template (contents.object, rows.objects)"
}

// Findings evaluates a sample.
func (s Sampled) Findings(prefix string) (out []Finding) {
	found := fmt.Sprintf("all of %d sampled objects are in the bucket", s.Named)
	if s.Named == 1 {
		found = "the sampled object is in the bucket"
	}
	switch {
	case len(s.Outside) > 0:
		out = append(out, Finding{true, fmt.Sprintf("the keys of %d of %s lie outside of the prefix %q, such as %q", len(s.Outside), s.sampled(), prefix, s.Outside[0]),
			s.source() + ", or the prefix"})
	case s.Named == 0:
		out = append(out, Finding{false, "no row names an object yet, so that their keys could not be compared with the bucket", "check again once there are some"})
	case s.Found*2 < s.Named-len(s.Odd):
		out = append(out, Finding{true, fmt.Sprintf("the bucket has %d of %s; %q is not there", s.Found, s.sampled(), s.Missing),
			s.source() + ": it does not give the keys of the objects"})
	case s.Spelled != "":
		out = append(out, Finding{false, fmt.Sprintf("the bucket has %d of %s, and %+q instead of a key that is spelled otherwise, as in URLs or another form of Unicode", s.Found, s.sampled(), s.Spelled),
			"let the rows have keys as the bucket has them: as they are, no row names such objects"})
	case s.Found < s.Named-len(s.Odd):
		out = append(out, Finding{false, fmt.Sprintf("the bucket has %d of %s; %q is not there", s.Found, s.sampled(), s.Missing),
			"find out who removed it: its rows cannot be read"})
	case len(s.Odd) == 0:
		out = append(out, Finding{false, found, ""})
	}
	if len(s.Odd) > 0 {
		out = append(out, Finding{false, fmt.Sprintf("the keys of %d of %s are never deleted, as services read them in different ways: %s", len(s.Odd), s.sampled(), s.Odd[0]),
			"rename those objects, and their keys in the rows: no control characters, empty segments, segments . and .."})
	}
	return out
}
