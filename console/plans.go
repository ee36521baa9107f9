package console

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Bounds of plans that are reviewed here; larger ones are for the command line.
const (
	maxPlan     = 8 << 20  // bytes of one
	maxPlans    = 32 << 20 // of all that are kept
	keptPlans   = 16
	plansOfOne  = 4 // of one operator
	shownItems  = 200
	planTooLong = "the plan is too large to be reviewed here"
)

// kept is a plan that waits for its review, or was applied. Its fields other than those of
// the outcome do not change.
type kept struct {
	id, by  string
	head    plan.Header
	end     plan.End
	items   []plan.Item // the first ones
	file    []byte
	applied bool
	result  api.ApplyResult
	left    []plan.Result // items that were not acted on, the first ones
	problem string        // why it broke off
}

// plans are kept in memory, the latest ones, for those who made them.
type plans struct {
	mu   sync.Mutex
	list []*kept
	// making is held while a plan is made: one at a time, as it is kept in memory.
	making sync.Mutex
}

// add keeps a plan, and drops what is too much: an operator's own oldest first.
func (p *plans) add(k *kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, k)
	mine := func(other *kept) bool { return other.by == k.by }
	for n := count(p.list, mine); n > plansOfOne; n-- {
		at := slices.IndexFunc(p.list, mine)
		p.list = slices.Delete(p.list, at, at+1)
	}
	for len(p.list) > keptPlans || p.bytes() > maxPlans {
		p.list = slices.Delete(p.list, 0, 1)
	}
}

func (p *plans) bytes() (n int) {
	for _, k := range p.list {
		n += len(k.file)
	}
	return n
}

func count(list []*kept, is func(*kept) bool) (n int) {
	for _, k := range list {
		if is(k) {
			n++
		}
	}
	return n
}

// find returns a copy of an operator's plan.
func (p *plans) find(id, by string) (kept, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.list {
		if k.id == id && k.by == by {
			return *k, nil
		}
	}
	return kept{}, &api.Error{Code: "bad_request", Message: "this plan is not kept any more: make a new one"}
}

// take marks a plan as applied; it is applied once.
func (p *plans) take(id, by string) (*kept, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.list {
		if k.id == id && k.by == by && !k.applied {
			k.applied = true
			return k, nil
		}
	}
	return nil, &api.Error{Code: "bad_request", Message: "this plan was applied already, or is not kept any more: make a new one"}
}

// end records how applying a plan went.
func (p *plans) end(k *kept, res api.ApplyResult, left []plan.Result, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.result, k.left, k.file = res, left, nil
	if err != nil {
		k.problem = err.Error()
	}
}

// planned are the commands whose plans can be made here, with what they need.
var planned = []struct{ Command, Name, Needs string }{
	{"reclaim", "Reclaim what is due", "routines"},
	{"trash purge", "Purge the trash", "bucket"},
	{"dead requeue", "Try dead letters again", "backend"},
	{"dead write-off", "Write dead letters off", "backend"},
	{"backend drain", "Drain a backend", "backend"},
	{"backend remove", "Remove a backend", "backend"},
}

func (v *visit) plans() (templ.Component, error) {
	if id := v.r.URL.Query().Get("id"); id != "" {
		k, err := v.h.plans.find(id, v.session.operator.Name)
		if err != nil {
			return nil, err
		}
		v.title = "Plan of " + k.head.Command
		v.sameAs("apply", "FILE")
		return planPage(v.frame(), k), nil
	}
	for _, p := range planned {
		words := strings.Fields(p.Command)
		switch words[0] {
		case "backend":
			words = append(words, "NAME")
		case "dead", "trash":
			words = append(words, "--all")
		}
		v.sameAs(append(words, "--plan", "FILE")...)
	}
	return plansPage(v.frame()), nil
}

// planRequest reads the form.
func (v *visit) planRequest() api.PlanRequest {
	form := v.r.PostForm
	req := api.PlanRequest{Command: form.Get("command")}
	text := func(field string) string { return strings.TrimSpace(form.Get(field)) }
	switch req.Command {
	case "reclaim":
		req.Only = strings.FieldsFunc(text("only"), func(r rune) bool { return r == ',' || r == ' ' })
	case "trash purge":
		req.Trash = &api.TrashRequest{Bucket: text("bucket"), Prefix: form.Get("prefix"), All: text("bucket") == ""}
	case "dead requeue", "dead write-off":
		req.Dead = &api.DeadRequest{Backend: text("backend"), All: text("backend") == ""}
	default:
		req.Backend = text("backend")
	}
	return req
}

// makePlan makes a plan, which is then reviewed. It changes nothing in the store.
func (v *visit) makePlan() (note, error) {
	req := v.planRequest()
	if !v.h.plans.making.TryLock() {
		return note{}, &api.Error{Code: "running", Message: "another plan is being made: try again in a moment"}
	}
	defer v.h.plans.making.Unlock()
	var file bytes.Buffer
	if err := v.h.admin.Plan(v.as(), req, &bounded{w: &file, left: maxPlan}); err != nil {
		if errors.Is(err, errLong) {
			err = &api.Error{Code: "bad_request", Message: planTooLong + ": " + v.h.opt.Command(append(strings.Fields(req.Command), "--plan", "FILE")...)}
		}
		return note{}, err
	}
	id, err := v.h.sessions.random()
	if err != nil {
		return note{}, err
	}
	k := &kept{id: id, by: v.session.operator.Name, file: bytes.Clone(file.Bytes())}
	if err := k.read(); err != nil {
		return note{}, &api.Error{Code: "bad_request", Message: err.Error()}
	}
	v.h.plans.add(k)
	v.planID = k.id
	return note{}, nil
}

// read verifies the plan, and keeps what is shown of it.
func (k *kept) read() (err error) {
	if k.head, k.end, err = plan.Check(bytes.NewReader(k.file)); err != nil {
		return err
	}
	r, err := plan.NewReader(bytes.NewReader(k.file))
	for err == nil && len(k.items) < shownItems {
		var item plan.Item
		if item, err = r.Next(); err == nil {
			k.items = append(k.items, item)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

var errLong = errors.New(planTooLong)

// bounded is a writer that fails beyond a size.
type bounded struct {
	w    io.Writer
	left int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errLong
	}
	return b.w.Write(p)
}

func (h *Handler) planActions() []action {
	made := func(v *visit) string { return link("/plans", "id", v.planID) }
	same := func(v *visit) string { return link("/plans", "id", v.r.PostForm.Get("id")) }
	return []action{{"/plans/make", api.Read, made, (*visit).makePlan}, {"/plans/apply", api.Destroy, same, (*visit).applyPlan}}
}

func (v *visit) applyPlan() (note, error) {
	k, err := v.h.plans.take(v.r.PostForm.Get("id"), v.session.operator.Name)
	if err != nil {
		return note{}, err
	}
	var left []plan.Result
	res, err := v.h.admin.Apply(v.as(), bytes.NewReader(k.file), false, func(ev api.Event) {
		if ev.Item != nil && len(left) < shownItems {
			left = append(left, *ev.Item)
		}
	})
	v.h.plans.end(k, res, left, err)
	return note{Text: "The plan was applied: " + outcomesText(res) + "."}, err
}

func outcomesText(res api.ApplyResult) string {
	var parts []string
	for _, o := range slices.Sorted(maps.Keys(res.Outcomes)) {
		parts = append(parts, words.Number(res.Outcomes[o])+" "+string(o))
	}
	if len(parts) == 0 {
		return "nothing was to be done"
	}
	return strings.Join(parts, ", ")
}

// planFile sends a plan as a file for lethe apply.
func (h *Handler) planFile(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visit(w, r)
	if !ok {
		return
	}
	v.title = "Plan"
	k, err := h.plans.find(r.URL.Query().Get("id"), v.session.operator.Name)
	if err == nil && k.file == nil {
		err = &api.Error{Code: "bad_request", Message: "the plan was applied: make a new one"}
	}
	if err != nil {
		v.fail(err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="plan.jsonl"`)
	w.Header().Set("Content-Security-Policy", policyContent)
	// A client that has disconnected needs no response.
	_, _ = w.Write(k.file)
}

// estimateText says what a plan's items cost.
func estimateText(e plan.Estimate) string {
	text := e.Do + ": " + words.Plural(e.Calls, "call", "calls") + " to backends"
	if e.Later > 0 {
		text += ", " + words.Number(e.Later) + " later to delete what is condemned"
	}
	if e.Rate > 0 {
		return text + "; some " + span(seconds(e.Seconds)) + " by " + e.Basis
	}
	return text + "; time unknown, as no run is recorded"
}

// dueText is when an item is due.
func dueText(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return stamp(t)
}
