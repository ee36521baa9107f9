package interleave_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/test/interleave/stepwise"
)

// outcome is what methods made of the rows, and answered.
type outcome struct {
	stepwise.Serial // the order in which they ran
	answers         []string
	refused         []bool
	state           string
	open            string // the state but for which contents are closed
	closed          int    // contents
	rows            map[string]string
}

// same says that nobody can tell the outcome of a schedule from that of one of the
// orders.
func (o outcome) same(list []action, order outcome) bool {
	glances := false
	for i, x := range list {
		glances = glances || x.glances
		answer, refused := o.answers[i], o.refused[i] && order.refused[i]
		switch {
		case answer == order.answers[i]:
		case refused && slices.ContainsFunc(x.eager, func(e error) bool { return answer == told(e) }):
		case x.replays && !o.refused[i] && order.refused[i] && slices.ContainsFunc(order.answers, func(a string) bool { return made(a) == made(answer) }):
		default:
			return false
		}
	}
	return o.state == order.state || glances && o.open == order.open && o.closed < order.closed
}

// made is the object of a commit's answer, without what it replaced.
func made(answer string) string {
	object, _, _ := strings.Cut(answer, `,"Replaced"`)
	return object
}

// call runs an action as an actor.
func (w *world) call(x action, slot int) answer {
	a := &act{ctx: w.ctx, db: w.actors[slot].db, f: w.f, slot: slot, ids: ledgertest.NewIDs(5000 + uint64(slot))}
	a.claimed = func(fence int64) { w.claims.note(fence, slot) }
	return tell(x.run(a))
}

// end runs those again that may have passed something by, and answers what came of all.
func (w *world) end(list []action, answers []answer) outcome {
	w.Helper()
	w.prepare(2)
	out := outcome{}
	for i, x := range list {
		if x.passes {
			answers[i] = answers[i].and(w.call(x, i))
		}
	}
	for _, a := range answers {
		out.answers = append(out.answers, w.claims.named(a.String()))
		out.refused = append(out.refused, a.refused)
	}
	out.rows = w.look()
	out.state, out.open = w.kept.Changes(out.rows, nil, w.claims.named), w.kept.Changes(out.rows, closed, w.claims.named)
	out.closed = strings.Count(out.rows["lethe.contents"], `"closed": 1`)
	return out
}

// serial answers what each order of the actions, one after the other, makes of the
// rows, and sees that it is sound.
func (w *world) serial(list []action) []outcome {
	w.Helper()
	key := ""
	for _, x := range list {
		key += x.name + "\n"
	}
	if known, ok := w.known[key]; ok {
		return known
	}
	var out []outcome
	for _, order := range stepwise.Orders(len(list)) {
		w.prepare(1)
		answers, lengths := make([]answer, len(list)), make([]int, len(list))
		for _, i := range order {
			lengths[i] = w.runner.Count(i, func() { answers[i] = w.call(list[i], i) })
		}
		o := w.end(list, answers)
		o.Serial = stepwise.Serial{Order: order, Lengths: lengths}
		w.sound(fmt.Sprintf("%s in the order %v", key, order))
		w.reset(o.rows)
		o.rows = nil
		out = append(out, o)
	}
	w.known[key] = out
	return out
}

// Serial implements stepwise.World.
func (w *world) Serial(list []action) (out []stepwise.Serial) {
	w.Helper()
	for _, o := range w.serial(list) {
		out = append(out, o.Serial)
	}
	return out
}

// Beside implements stepwise.World.
func (w *world) Beside(list []action, s stepwise.Schedule) (wrong string, n stepwise.Tally) {
	w.Helper()
	serial := w.serial(list)
	c, answers := w.runBeside(list, s)
	o := w.end(list, answers)
	defer w.reset(o.rows)
	n = stepwise.Tally{Schedules: 1, Waits: c.Waits, Deadlocks: c.Deadlocks}
	var orders []string
	for _, may := range serial {
		if !allows(c, list, may) {
			continue
		}
		if o.same(list, may) {
			return "", n
		}
		orders = append(orders, fmt.Sprintf("\n%v:\n%s", may.Order, differ(o, may)))
	}
	return stepwise.Wrong(names(list), s, c, orders), n
}

// runBeside runs the actions beside each other by a schedule.
func (w *world) runBeside(list []action, s stepwise.Schedule) (*stepwise.Trace, []answer) {
	w.Helper()
	w.prepare(1)
	answers := make([]answer, len(list))
	c, err := w.runner.Run(s, len(list), func(i int) { answers[i] = w.call(list[i], i) })
	if err != nil {
		w.Fatalf("%q\n%s\nthe schedule cannot go on: %v\n%s", names(list), s, err, strings.Join(c.Steps, "\n"))
	}
	return c, answers
}

// allows says that the schedule may have come to what an order comes to: what closes
// comes before all that ended later, and what awaits an operation after it.
func allows(c *stepwise.Trace, list []action, may outcome) bool {
	before := func(i, j int) bool { return slices.Index(may.Order, i) < slices.Index(may.Order, j) }
	for i, x := range list {
		for j := range list {
			at, of := c.Actors[i], c.Actors[j]
			commit := at.Last("COMMIT").Answered
			recorded := max(of.Last("INSERT INTO ops").Passed, of.Last("WITH guarded AS (INSERT INTO ops").Passed)
			switch {
			case i == j:
			case x.closes && commit > 0 && of.Last("COMMIT").Answered > commit && !before(i, j):
				return false
			case x.awaits && j == i^1 && recorded > 0 && recorded < at.Statements[0].Passed && !before(j, i):
				return false
			}
		}
	}
	return true
}

func names(list []action) (out []string) {
	for _, x := range list {
		out = append(out, x.name)
	}
	return out
}

// differ shows what the one has and the other has not.
func differ(have, want outcome) string {
	var out strings.Builder
	for i := range have.answers {
		if have.answers[i] != want.answers[i] {
			fmt.Fprintf(&out, "- actor %d answers %.600s\n+ actor %d answers %.600s\n", i, want.answers[i], i, have.answers[i])
		}
	}
	lines := func(o outcome) []string { return strings.Split(o.state, "\n") }
	return out.String() + stepwise.Difference(lines(have), lines(want))
}
