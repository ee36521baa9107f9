package service

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// maxDayReads bounds the rows that are read for a page of a day. Those of other buckets
	// and causes are read as well.
	maxDayReads = 20_000
	// bucketReads is what asking for a bucket's uploads counts for.
	bucketReads = 20
)

// ForecastDay returns a page of what goes on a day, as the routines would find it then. It
// reads the index of what is due, and of buckets whose rules are being applied all objects:
// ledger.ErrRulesChanged if rules were changed since the page before.
func (s *Service) ForecastDay(ctx context.Context, r api.ForecastDayRequest) (api.ForecastRows, error) {
	out := api.ForecastRows{Rows: []api.ForecastRow{}}
	now, err := s.o.Ledger.LedgerTime(ctx)
	if err != nil {
		return out, err
	}
	d, err := newDayRows(s, r, now)
	if err != nil {
		return out, err
	}
	if r.Bucket != "" {
		b, err := s.o.Ledger.Bucket(ctx, r.Bucket)
		if err != nil {
			return out, err
		}
		d.bucket = b.ID
	}
	for !d.done() && len(d.rows) < d.limit && d.read < maxDayReads {
		err := d.step(ctx)
		if errors.Is(err, ledger.ErrRulesChanged) {
			return out, ledger.ErrRulesChanged
		}
		if err != nil {
			return out, err
		}
	}
	out.Now, out.Rows, out.More = toTime(now), append(out.Rows, d.rows...), !d.done()
	if out.More {
		out.Next, err = d.at.text()
	}
	return out, err
}

// dayMark is where a page of a day ended.
type dayMark struct {
	Stage  int            `json:"s,omitempty"`
	Due    ledger.DueMark `json:"d,omitzero"` // of objects and trash entries
	Bucket string         `json:"b,omitempty"`
	Key    string         `json:"k,omitempty"` // of uploads
	Upload lethe.ID       `json:"u,omitempty"`
	Digest string         `json:"g,omitempty"` // of the rules that the bucket's uploads are read by
	// Unapplied and Rules are those of ledger.DueQuery.
	Unapplied []lethe.ID `json:"n"`
	Rules     int64      `json:"r,omitempty"`
}

func (m dayMark) text() (string, error) {
	doc, err := json.Marshal(m)
	return base64.RawURLEncoding.EncodeToString(doc), err
}

// dayRows reads what goes on a day.
type dayRows struct {
	service  *Service
	req      api.ForecastDayRequest
	now      lethe.Time
	from, by lethe.Time // what ends before or after is left out
	limit    int
	bucket   lethe.ID // the only one; empty: all
	at       dayMark
	rows     []api.ForecastRow
	read     int
}

// dayStages are what the rows are read from, in their order, by the causes that end them.
var dayStages = [][]ledger.Cause{{ledger.EndsByTTL, ledger.EndsByRead, ledger.EndsByIdle, ledger.EndsByRule}, {ledger.EndsByUndo}, {ledger.EndsByAbort}}

func newDayRows(s *Service, r api.ForecastDayRequest, now lethe.Time) (*dayRows, error) {
	d := &dayRows{service: s, req: r, now: now, by: now, limit: r.Limit}
	if d.limit <= 0 || d.limit > page {
		d.limit = page
	}
	if !r.Day.IsZero() {
		begin := lethe.FromTime(r.Day.UTC().Truncate(24 * time.Hour))
		d.from, d.by = max(begin, now+1), begin.Add(24*time.Hour)-1
	}
	known := r.By == ""
	for _, causes := range dayStages {
		known = known || slices.Contains(causes, ledger.Cause(r.By))
	}
	if !known {
		return d, fmt.Errorf("%w: nothing ends by %q; use ttl, read, idle, rule, undo or abort", api.ErrBadRequest, r.By)
	}
	d.begin(0)
	if r.After == "" {
		return d, nil
	}
	doc, err := base64.RawURLEncoding.DecodeString(r.After)
	d.at = dayMark{}
	if err == nil {
		err = json.Unmarshal(doc, &d.at)
	}
	if err == nil && (d.at.Stage < 0 || d.at.Due.Part < 0) {
		err = errors.New("it names no place")
	}
	if err != nil {
		return d, fmt.Errorf("%w: after is not the next of a page: %w", api.ErrBadRequest, err)
	}
	return d, nil
}

func (d *dayRows) done() bool { return d.at.Stage >= len(dayStages) || d.by < d.from }

// begin goes to the first stage from one on that can have rows of the cause.
func (d *dayRows) begin(stage int) {
	for stage < len(dayStages) && d.req.By != "" && !slices.Contains(dayStages[stage], ledger.Cause(d.req.By)) {
		stage++
	}
	d.at = dayMark{Stage: stage}
	if d.from > 0 {
		d.at.Due = ledger.DueMark{Due: d.from - 1, Size: math.MaxInt64}
	}
}

// step reads one page of the stage.
func (d *dayRows) step(ctx context.Context) error {
	switch d.at.Stage {
	case 0:
		return d.due(ctx, d.service.o.Ledger.DueObjects)
	case 1:
		return d.due(ctx, d.service.o.Ledger.DueTrash)
	}
	return d.uploads(ctx)
}

func (d *dayRows) due(ctx context.Context, read func(context.Context, ledger.DueQuery) (ledger.DuePage, error)) error {
	q := ledger.DueQuery{By: d.by, All: true, Bucket: d.bucket, After: d.at.Due, Unapplied: d.at.Unapplied, Rules: d.at.Rules, Limit: d.limit - len(d.rows)}
	p, err := read(ctx, q)
	if err != nil {
		return err
	}
	d.read += q.Limit
	for _, r := range p.Rows {
		key := r.Key
		if r.By == ledger.EndsByUndo {
			key = r.ObjectKey
		}
		d.add(r.Ending, api.ForecastRow{Bucket: r.BucketName, Key: key, Size: r.Size, Held: r.Held})
	}
	if d.at.Due, d.at.Unapplied, d.at.Rules = p.Next, p.Unapplied, p.Rules; !p.More {
		d.begin(d.at.Stage + 1)
	}
	return nil
}

// add adds a row that ends on the day, for the bucket and the cause that are asked for.
func (d *dayRows) add(e ledger.Ending, r api.ForecastRow) {
	if e.At < d.from || e.At > d.by || e.At == 0 ||
		d.req.Bucket != "" && r.Bucket != d.req.Bucket || d.req.By != "" && string(e.By) != d.req.By || d.req.Rule != "" && e.Rule != d.req.Rule {
		return
	}
	r.EndsAt, r.By, r.Rule = toTime(e.At), string(e.By), e.Rule
	d.rows = append(d.rows, r)
}

// uploads reads a page of a bucket's uploads. They have no index by when they end.
func (d *dayRows) uploads(ctx context.Context) error {
	if d.at.Bucket == "" {
		return d.nextBucket(ctx)
	}
	rules := ledger.BucketRules{}
	q := ledger.UploadQuery{Bucket: d.at.Bucket, AfterKey: d.at.Key, AfterUpload: d.at.Upload, Limit: d.limit - len(d.rows)}
	list, err := d.service.o.Ledger.OpenUploads(ctx, q)
	if err == nil && len(list) > 0 {
		rules, err = d.service.o.Ledger.Rules(ctx, d.at.Bucket)
	}
	if err != nil && !errors.Is(err, lethe.ErrNoSuchBucket) { // it was deleted meanwhile
		return err
	}
	if digest := rules.Rules.Digest(); len(list) > 0 {
		if d.at.Digest != "" && d.at.Digest != digest {
			return ledger.ErrRulesChanged
		}
		d.at.Digest = digest
	}
	for _, one := range list {
		one.SetStale(d.service.stale())
		d.add(one.Ends(rules.Rules), api.ForecastRow{Bucket: d.at.Bucket, Key: one.Upload.Key, Size: one.Bytes, Held: one.Held})
		d.at.Key, d.at.Upload = one.Upload.Key, one.Upload.ID
	}
	d.read += max(len(list), bucketReads)
	if len(list) < q.Limit {
		return d.nextBucket(ctx)
	}
	return nil
}

// nextBucket goes on with the uploads of the bucket that follows.
func (d *dayRows) nextBucket(ctx context.Context) error {
	next := d.req.Bucket
	if next == "" {
		list, err := d.service.o.Ledger.Buckets(ctx, ledger.BucketQuery{After: d.at.Bucket, Limit: 1})
		if err != nil {
			return err
		}
		if len(list) > 0 {
			next = list[0].Name
		}
	}
	if next == "" || next == d.at.Bucket {
		d.begin(d.at.Stage + 1)
		return nil
	}
	d.read += bucketReads
	d.at = dayMark{Stage: d.at.Stage, Bucket: next}
	return nil
}
