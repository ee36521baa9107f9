package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// maxPlan bounds a plan in bytes, some 20 million items: it is stored in the
// data folder during its application.
const maxPlan = 8 << 30

// applyBatch is the number of items per batch.
const applyBatch = 500

// batchOf returns the batch size of an action: the largest one where each batch
// walks over everything.
func batchOf(do string) int {
	if do == "reconcile" {
		return 200 * applyBatch
	}
	return applyBatch
}

// planEarly is how far a plan's time may be ahead of the clock.
const planEarly = 5 * time.Minute

// apply applies a plan, and changes nothing that is not in it.
func (s *Service) apply(w http.ResponseWriter, r *http.Request) {
	audit := s.begin(r.Context(), "apply", api.ApplyRequest{})
	f, end, err := s.receive(http.MaxBytesReader(w, r.Body, maxPlan))
	if err == nil {
		defer f.Close()
		audit.request = end.head
		err = cmp.Or(s.fits(r.Context(), end.head, r.URL.Query().Get("force") == "1"), end.strange)
	}
	if err != nil {
		audit.end(err)
		e, status := httpError(err)
		reply(w, status, api.Failure{Error: e})
		return
	}
	lines(w, func(emit func(api.Event)) (api.ApplyResult, error) {
		res, err := s.applyPlan(r.Context(), f, end, emit)
		if err != nil {
			err = fmt.Errorf("it stopped after %d of %s; what is left can be applied again: %w", res.Done.Items, words.Plural(res.Items, "item", "items"), err)
		}
		audit.after = res
		audit.end(err)
		return res, err
	})
}

// wholePlan is the beginning and the end of a plan that was read.
type wholePlan struct {
	head    plan.Header
	end     plan.End
	strange error // of the first item that this version cannot apply
}

// receive stores a plan in a file without a name, and verifies it: nothing is
// done before its last byte is verified.
func (s *Service) receive(body io.Reader) (*os.File, wholePlan, error) {
	path := filepath.Join(s.o.Scratch, ".plan-"+string(lethe.RandomID(s.o.Clock.Now())))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return nil, wholePlan{}, fmt.Errorf("keep the plan while it is applied: %w", err)
	}
	p, err := s.readAll(io.TeeReader(body, f))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, plan.ErrFormat) || errors.Is(err, plan.ErrAltered) {
			err = fmt.Errorf("%w: %w", api.ErrBadRequest, err)
		}
		return nil, wholePlan{}, err
	}
	return f, p, nil
}

// readAll reads a plan to its end, and checks each of its items.
func (s *Service) readAll(body io.Reader) (p wholePlan, err error) {
	in, err := plan.NewReader(body)
	if err != nil {
		return p, err
	}
	p.head = in.Header
	for n := 1; ; n++ {
		i, err := in.Next()
		if errors.Is(err, io.EOF) {
			p.end = in.End
			return p, nil
		}
		if err != nil {
			return p, err
		}
		if p.strange == nil && !s.acts(p.head.Command, i) {
			p.strange = fmt.Errorf("%w: nothing was done: item %d of the plan of %q is to be taken by %q (%s), which does not act on it here", api.ErrBadRequest, n, p.head.Command, i.Do, i.Kind)
		}
	}
}

// acts reports whether an item of a command's plan can be applied.
func (s *Service) acts(command string, i plan.Item) bool {
	switch {
	case i.ID == "" || i.Kind == "":
		return false
	case commands[command].apply != nil:
		return i.Do == command
	}
	return s.o.Loop.Plans(i.Do)
}

// fits refuses the plan of another store or ledger, and one that is too old.
func (s *Service) fits(ctx context.Context, h plan.Header, force bool) error {
	id, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return err
	}
	age := s.o.Clock.Now().Time().Sub(h.At)
	switch {
	case h.Store != string(id.ID):
		return fmt.Errorf("%w: the plan is of store %s, this is %s", api.ErrBadRequest, h.Store, id.ID)
	case h.Ledger != string(id.DB):
		return fmt.Errorf("%w: the plan was made by another copy of the ledger (%s, this is %s): it was restored since; make a new plan", api.ErrBadRequest, h.Ledger, id.DB)
	case commands[h.Command].items == nil:
		return fmt.Errorf("%w: the plan is of the command %q, which this version does not know", api.ErrBadRequest, h.Command)
	case force:
		return nil
	case age > s.o.Safety.PlanAge:
		return fmt.Errorf("%w: the plan is %s old, more than %s (reclaim.grace.plan_age): make a new one, or force it",
			api.ErrBadRequest, age.Round(time.Second), lethe.FormatTTL(s.o.Safety.PlanAge))
	case age < -planEarly:
		return fmt.Errorf("%w: the plan was made %s from now, by the ledger's clock: check the clock, make a new plan, or force it", api.ErrBadRequest, (-age).Round(time.Second))
	}
	return nil
}

// applyPlan applies the items in their order.
func (s *Service) applyPlan(ctx context.Context, f io.Reader, p wholePlan, emit func(api.Event)) (api.ApplyResult, error) {
	in, err := plan.NewReader(f)
	if err != nil {
		return api.ApplyResult{}, err
	}
	a := &applying{s: s, command: p.head.Command, src: &source{in: in}, emit: emit, out: api.ApplyResult{
		Command: p.head.Command, Items: p.end.Totals.Items, Outcomes: map[plan.Outcome]int64{}, Runs: map[string]map[string]int64{},
	}}
	for ctx.Err() == nil {
		do, err := a.src.do()
		if errors.Is(err, io.EOF) {
			return a.out, nil
		}
		if err == nil {
			err = a.next(ctx, do)
		}
		if err != nil {
			return a.out, err
		}
	}
	return a.out, ctx.Err()
}

// applying is the application of a plan.
type applying struct {
	s       *Service
	command string
	src     *source
	emit    func(api.Event)
	done    int64
	out     api.ApplyResult
}

// each reports the outcomes of items.
func (a *applying) each(results []plan.Result) {
	for _, r := range results {
		a.out.Outcomes[r.Outcome]++
		if r.Outcome == plan.Done {
			a.out.Done.Add(r.Item)
		} else {
			a.emit(api.Event{Item: &r})
		}
	}
	a.done += int64(len(results))
	a.emit(api.Event{Progress: &api.Progress{What: "apply", Done: a.done, Total: a.out.Items}})
}

// next applies the next items that have the same action.
func (a *applying) next(ctx context.Context, do string) error {
	batch := func() ([]plan.Item, error) { return a.src.batch(do, batchOf(do)) }
	apply := commands[a.command].apply
	switch {
	case apply == nil:
		counts, err := a.s.o.Loop.Apply(ctx, reclaim.Application{Routine: do, Next: batch, Each: a.each})
		a.out.Runs[do] = addCounts(a.out.Runs[do], counts)
		return err
	case do != a.command:
		return fmt.Errorf("%w: the plan of %q has an item of %q", api.ErrBadRequest, a.command, do)
	}
	for ctx.Err() == nil {
		items, err := batch()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		going, staying := plan.Staying(items)
		a.each(staying)
		if len(going) == 0 {
			continue
		}
		results, err := apply(a.s, ctx, going)
		a.each(results)
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func addCounts(sum, more map[string]int64) map[string]int64 {
	if sum == nil {
		sum = map[string]int64{}
	}
	for k, n := range more {
		sum[k] += n
	}
	return sum
}

// source reads items in batches of one action.
type source struct {
	in   *plan.Reader
	next *plan.Item
}

func (s *source) peek() (*plan.Item, error) {
	if s.next == nil {
		i, err := s.in.Next()
		if err != nil {
			return nil, err
		}
		s.next = &i
	}
	return s.next, nil
}

// do returns the action of the next item, or io.EOF.
func (s *source) do() (string, error) {
	i, err := s.peek()
	if err != nil {
		return "", err
	}
	return i.Do, nil
}

// batch reads up to n items of the same action, or io.EOF if there is none.
func (s *source) batch(do string, n int) (out []plan.Item, err error) {
	for len(out) < n {
		i, err := s.peek()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil || i.Do != do {
			break
		}
		out = append(out, *i)
		s.next = nil
	}
	if len(out) == 0 {
		return nil, io.EOF
	}
	return out, nil
}
