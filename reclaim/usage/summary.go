package usage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// MaxPrefixes bounds the prefixes that a summary has.
	MaxPrefixes = 1000
	// MaxDepth bounds the slashes in a prefix of a summary.
	MaxDepth = 8
	// Days is how many days the calendar of a summary has.
	Days = 90
	// maxBrief bounds the prefixes of a brief.
	maxBrief = 100
	// objectWeight is what a row and a file take at least, in bytes.
	objectWeight = 4 << 10
	day          = 24 * time.Hour
)

// Amount is a number of objects, trash entries or uploads, and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Add adds another amount.
func (a *Amount) Add(b Amount) {
	a.Objects += b.Objects
	a.Bytes += b.Bytes
}

// Totals are what a number of objects come to.
type Totals struct {
	Amount
	// Stored is the bytes that are stored for them, once. Bytes that several objects or trash
	// entries share are divided evenly among them, whatever buckets they are in, so that all
	// shares add up to what is stored. Copies on several backends count once.
	Stored int64 `json:"stored_bytes"`
	// WithoutEnd is those that neither a time to live nor a rule ends.
	WithoutEnd Amount `json:"without_end"`
	// Oldest and Newest are when the first and the last of them were modified.
	Oldest lethe.Time `json:"oldest,omitempty"`
	Newest lethe.Time `json:"newest,omitempty"`
}

// Prefix is what is below a prefix that ends in a slash.
type Prefix struct {
	Prefix string `json:"prefix"`
	Totals
	// Below is the number of prefixes directly below it; a summary may lack small ones.
	Below int `json:"below,omitempty"`
}

// weight orders prefixes, so that many empty objects are not overlooked.
func (p Prefix) weight() int64 { return p.Bytes + p.Objects*objectWeight }

// compare orders prefixes by weight, the heaviest first. What is above another prefix always
// comes before it, so the first ones are a whole tree.
func (p Prefix) compare(q Prefix) int {
	return cmp.Or(cmp.Compare(q.weight(), p.weight()), cmp.Compare(len(p.Prefix), len(q.Prefix)), cmp.Compare(p.Prefix, q.Prefix))
}

// Class is the objects below a bound and not below that of the class before.
type Class struct {
	Below int64 `json:"below"` // bytes, or seconds of age; 0: no bound
	Amount
	WithoutEnd Amount `json:"without_end"`
}

// Due is what goes on a day for one cause.
type Due struct {
	Day  lethe.Time   `json:"day"` // its beginning in UTC; 0: it was due already
	By   ledger.Cause `json:"by"`
	Rule string       `json:"rule,omitempty"` // ID
	Amount
	// Freed is the bytes, of all copies, whose last reference goes then. AtLeast reports that it may be more:
	// other bytes have references elsewhere, of which the count knows nothing.
	Freed   int64 `json:"freed_bytes"`
	AtLeast bool  `json:"at_least,omitempty"`
	// Held is what would go as well, and stays while a hold is on it.
	Held Amount `json:"held,omitzero"`
}

// Summary is what a bucket, or a prefix of it, stores.
type Summary struct {
	TakenAt lethe.Time `json:"taken_at"` // by the ledger's clock, when the count began
	Prefix  string     `json:"prefix,omitempty"`
	// Rules is the digest of the rules that were in force (lifecycle.Rules.Digest).
	Rules string `json:"rules,omitempty"`
	Totals
	Held    Amount  `json:"held"` // objects under holds
	Trash   Amount  `json:"trash"`
	Uploads Amount  `json:"uploads"` // incomplete ones, with the bytes of their stored parts
	Sizes   []Class `json:"sizes"`
	Ages    []Class `json:"ages"`
	Due     []Due   `json:"due"`   // by day, cause and rule
	Later   Amount  `json:"later"` // what goes after Days
	// Prefixes are the heaviest below Prefix, each with all those above it, in byte order.
	Prefixes []Prefix `json:"prefixes"`
	Below    int      `json:"below,omitempty"` // prefixes directly below Prefix
}

// Find returns the totals of a prefix, if the summary has it.
func (s Summary) Find(prefix string) (Prefix, bool) {
	if prefix == s.Prefix {
		return Prefix{Prefix: prefix, Totals: s.Totals, Below: s.Below}, true
	}
	i, found := slices.BinarySearchFunc(s.Prefixes, prefix, func(p Prefix, prefix string) int { return cmp.Compare(p.Prefix, prefix) })
	if !found {
		return Prefix{}, false
	}
	return s.Prefixes[i], true
}

// DueBy returns what is due up to an instant, whole days only, without what is held.
func (s Summary) DueBy(at lethe.Time) (a Amount) {
	for _, d := range s.Due {
		if d.Day.Add(day) <= at {
			a.Add(d.Amount)
		}
	}
	return a
}

// Brief is what is kept of a summary to show growth.
type Brief struct {
	Totals
	// Soon is what was due when it was taken, and on that day and the next.
	Soon     Amount        `json:"soon"`
	Prefixes []BriefPrefix `json:"prefixes,omitempty"` // the heaviest, in byte order
	// Most is what any other prefix had at most; zero if there was no other.
	Most Amount `json:"most,omitzero"`
}

// BriefPrefix is a prefix in a Brief.
type BriefPrefix struct {
	Prefix string `json:"prefix"`
	Amount
}

// Brief returns what is kept of the summary.
func (s Summary) Brief() Brief {
	b := Brief{Totals: s.Totals, Soon: s.DueBy(midnight(s.TakenAt).Add(2 * day))}
	heavy := slices.SortedFunc(slices.Values(s.Prefixes), Prefix.compare)
	if len(heavy) > maxBrief {
		next := heavy[maxBrief].weight()
		b.Most = Amount{next / objectWeight, next}
	}
	for _, p := range heavy[:min(len(heavy), maxBrief)] {
		b.Prefixes = append(b.Prefixes, BriefPrefix{p.Prefix, p.Amount})
	}
	slices.SortFunc(b.Prefixes, func(p, q BriefPrefix) int { return cmp.Compare(p.Prefix, q.Prefix) })
	return b
}

// Grown returns by how much a prefix has grown; the empty one is the whole bucket. least
// reports that the brief lacks the prefix, so that it has grown by at least that much. ok is
// false if nothing is known: the prefix ends within a name, or lies too deep to be counted.
func (b Brief) Grown(prefix string, now Amount) (by Amount, least, ok bool) {
	was := b.Amount
	if prefix != "" && (!strings.HasSuffix(prefix, "/") || strings.Count(prefix, "/") > MaxDepth) {
		return Amount{}, false, false
	}
	if prefix != "" {
		i, found := slices.BinarySearchFunc(b.Prefixes, prefix, func(p BriefPrefix, prefix string) int { return cmp.Compare(p.Prefix, prefix) })
		switch {
		case found:
			was = b.Prefixes[i].Amount
		case now.Bytes < b.Most.Bytes && now.Objects < b.Most.Objects:
			return Amount{}, false, false
		default:
			was, least = b.Most, b.Most != Amount{}
		}
	}
	by = Amount{now.Objects - was.Objects, now.Bytes - was.Bytes}
	if least {
		by = Amount{max(by.Objects, 0), max(by.Bytes, 0)}
	}
	return by, least, true
}

// Record returns the summary as the ledger keeps it.
func (s Summary) Record(bucket lethe.ID) (ledger.UsageRecord, error) {
	r := ledger.UsageRecord{Bucket: bucket, TakenAt: s.TakenAt}
	var err error
	if r.Brief, err = json.Marshal(s.Brief()); err != nil {
		return r, err
	}
	r.Document, err = json.Marshal(s)
	return r, err
}

// Decode returns the summary of a record: lethe.ErrCorrupt. ok is false if the record has
// only a brief.
func Decode(r ledger.UsageRecord) (s Summary, ok bool, err error) {
	if len(r.Document) == 0 {
		return s, false, nil
	}
	if err := json.Unmarshal(r.Document, &s); err != nil {
		return s, false, fmt.Errorf("usage of bucket %s: %w (%w)", r.Name, err, lethe.ErrCorrupt)
	}
	return s, true, nil
}

// DecodeBrief returns the brief of a record: lethe.ErrCorrupt.
func DecodeBrief(r ledger.UsageRecord) (b Brief, err error) {
	if err := json.Unmarshal(r.Brief, &b); err != nil {
		return b, fmt.Errorf("usage of bucket %s: %w (%w)", r.Name, err, lethe.ErrCorrupt)
	}
	return b, nil
}

// midnight returns the beginning of the day in UTC.
func midnight(at lethe.Time) lethe.Time {
	us := lethe.Time(day / time.Microsecond)
	return at / us * us
}
