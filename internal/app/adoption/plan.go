package adoption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// planCommand is the command in the plans that Apply accepts.
const planCommand = "adopt plan"

// planAge is the largest age of a plan that is applied.
const planAge = 24 * time.Hour

// fingerprint identifies a description. It has no secrets in it.
func (a *Adoption) fingerprint() (string, error) {
	d := *a.Description
	d.Database, d.Redis, d.Audit, d.Tracing = "", "", "", adopt.TracingSpec{}
	d.Buckets = map[string]adopt.BucketSpec{}
	for name, b := range a.Description.Buckets {
		b.AccessKey, b.SecretKey = "", ""
		d.Buckets[name] = b
	}
	text, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}

// header returns that of a plan of this description and database, now.
func (a *Adoption) header(ctx context.Context, by string) (h plan.Header, err error) {
	if err := a.DB.Install(ctx); err != nil {
		return h, err
	}
	made, now, err := a.DB.MadeAt(ctx)
	if err != nil {
		return h, err
	}
	h = plan.Header{Ledger: made.String(), At: now.Time(), Command: planCommand, By: by}
	h.Store, err = a.fingerprint()
	return h, err
}

// WritePlan writes what a run would take now of the collections, of all if none
// is named. It creates Lethe's tables, which identify a plan's database, and
// changes nothing else.
func (a *Adoption) WritePlan(ctx context.Context, names []string, by string, out io.Writer) (end plan.End, err error) {
	h, err := a.header(ctx, by)
	if err != nil {
		return end, err
	}
	w, err := plan.NewWriter(out, h)
	if err != nil {
		return end, err
	}
	if err := a.Items(ctx, names, w.Add); err != nil {
		return end, err
	}
	return w.Close(nil)
}

// Items passes what a run would take now of the collections, of all if none is
// named, to yield. It changes nothing; Lethe's tables have to exist.
func (a *Adoption) Items(ctx context.Context, names []string, yield func(plan.Item) error) error {
	if len(names) == 0 {
		names = a.Description.Names()
	}
	for _, name := range names {
		k, err := a.kindOf(name)
		if err != nil {
			return err
		}
		if err := k.items(ctx, yield); err != nil {
			return fmt.Errorf("plan of %s: %w", name, err)
		}
	}
	return nil
}

// ApplyOptions relax the checks of a plan.
type ApplyOptions struct {
	Old      bool // one that is older than planAge
	Reported bool // items of collections with mode: report
}

// Applied is the outcome of the items of one routine.
type Applied struct {
	Do     string
	Items  int64 // of the plan
	Counts map[string]int64
}

// errPlan reports that the plan cannot be applied here.
var errPlan = errors.New("make a new plan")

// Apply takes what a plan names, as far as a run would still take it: each item
// is checked again, in the transactions of every run. Nothing else is taken.
func (a *Adoption) Apply(ctx context.Context, file io.ReadSeeker, o ApplyOptions) (out []Applied, err error) {
	head, end, err := plan.Check(file)
	if err != nil {
		return nil, err
	}
	have, err := a.header(ctx, "")
	switch {
	case err != nil:
		return nil, err
	case head.Command != planCommand || head.Store != have.Store:
		return nil, fmt.Errorf("the plan is of another description, or of this one before it was changed: %w", errPlan)
	case head.Ledger != have.Ledger:
		return nil, fmt.Errorf("the plan is of another database, or Lethe's tables were made anew since: %w", errPlan)
	case have.At.Sub(head.At) > planAge && !o.Old:
		return nil, fmt.Errorf("the plan was made at %s, more than %s ago: %w, or say --force", head.At.Format(time.RFC3339), planAge, errPlan)
	}
	if err := a.applicable(ctx, end, o); err != nil {
		a.endWork(ctx, collectionsOf(end)) // it took nothing, and is in nobody's way
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Rest(ctx)) }()
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	in, err := plan.NewReader(file)
	if err != nil {
		return nil, err
	}
	groups := &itemGroups{in: in}
	for {
		do, err := groups.next()
		if errors.Is(err, io.EOF) {
			return out, errors.Join(a.reviewed(ctx, end.Totals.Does()), a.DropCopies(ctx))
		}
		if err != nil {
			return out, err
		}
		counts, err := a.apply(ctx, do, groups)
		out = append(out, Applied{do, end.Totals.By()[do].Items, counts})
		if err != nil {
			return out, err
		}
	}
}

// collectionsOf returns those of which a plan has items.
func collectionsOf(end plan.End) (names []string) {
	for _, do := range end.Totals.Does() {
		if _, name, _ := strings.Cut(do, " "); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// applicable refuses a plan with items of a collection that may not reclaim.
func (a *Adoption) applicable(ctx context.Context, end plan.End, o ApplyOptions) error {
	names := collectionsOf(end)
	if err := a.beginWork(ctx, func(name string) bool { return slices.Contains(names, name) }); err != nil {
		return err
	}
	found, err := a.check(ctx, all)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !a.reclaims(name) && !o.Reported {
			return fmt.Errorf("collection %s only reports: set mode: reclaim, or say --reclaim-reported", name)
		}
		others, err := a.checkOthers(ctx, name)
		if err != nil {
			return err
		}
		if len(others) > 0 { // no problem of what only reports, but of a plan of it
			return fmt.Errorf("collection %s: %s (%s)", name, others[0].What, others[0].Do)
		}
		for _, f := range found[name] {
			if f.Problem {
				return fmt.Errorf("collection %s has a problem: %s (%s)", name, f.What, f.Do)
			}
		}
	}
	return nil
}

// apply runs the routine of a group on just its items, as a recorded run.
func (a *Adoption) apply(ctx context.Context, do string, items *itemGroups) (map[string]int64, error) {
	_, name, _ := strings.Cut(do, " ")
	k, err := a.kindOf(name)
	if err != nil {
		return nil, err
	}
	s, err := k.applied(ctx, do, items)
	if err != nil {
		return nil, err
	}
	done, err := a.Loop.With(s).Once(ctx, nil)
	return done[do], err
}

// itemGroups reads a plan group by group: consecutive items of one routine.
type itemGroups struct {
	in   *plan.Reader
	do   string
	head *plan.Item // read ahead; nil if there is none
}

// peek returns the next item, or io.EOF at the end.
func (g *itemGroups) peek() (plan.Item, error) {
	if g.head == nil {
		i, err := g.in.Next()
		if err != nil {
			return i, err
		}
		g.head = &i
	}
	return *g.head, nil
}

// next advances to the next group, and returns its routine, or io.EOF if there
// is none.
func (g *itemGroups) next() (string, error) {
	if _, err := g.ids(-1); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	i, err := g.peek()
	g.do = i.Do
	return i.Do, err
}

// ids returns the next ids of the group, all if limit is negative, or io.EOF if
// there is none left.
func (g *itemGroups) ids(limit int) (out []string, err error) {
	for len(out) != limit {
		i, err := g.peek()
		if errors.Is(err, io.EOF) || err == nil && i.Do != g.do {
			break
		}
		if err != nil {
			return nil, err
		}
		g.head = nil
		out = append(out, i.ID)
	}
	if len(out) == 0 {
		return nil, io.EOF
	}
	return out, nil
}

// set returns all ids of the group.
func (g *itemGroups) set() (map[string]bool, error) {
	ids, err := g.ids(-1)
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out, err
}

// chunked is a routine that works on chunks of a collection, one after the other.
type chunked struct {
	adoptRoutine
	next func() ([]string, error) // io.EOF at the end
	of   func(keys []string) adoptRoutine
}

// Pass implements routine.
func (c chunked) Pass(worker string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	var step func(ctx context.Context, add func(string, int64)) (bool, error)
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		if step == nil {
			keys, err := c.next()
			if errors.Is(err, io.EOF) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			step = c.of(keys).Pass(worker)
		}
		more, err := step(ctx, add)
		if !more {
			step = nil
		}
		return err == nil, err
	}
}

// plannedItem returns an item of a plan.
func plannedItem(do, kind, why string, p sqladopt.Planned) plan.Item {
	return plan.Item{Do: do, Kind: kind, ID: p.ID, Key: p.Object, Size: p.Size, Why: why, Due: p.Due.Time()}
}
