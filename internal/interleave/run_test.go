package interleave_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-storage/lethe/meta/metatest"
)

// outcome is what methods made of the rows, and answered.
type outcome struct {
	order   []int // in which they ran, one after the other
	answers []string
	refused []bool
	state   string
	open    string // the state but for which contents are closed
	closed  int    // contents
	lengths []int  // statements of each
	rows    map[string]string
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
	a := &act{ctx: w.ctx, db: w.actors[slot].db, f: w.f, slot: slot, ids: metatest.NewIDs(5000 + uint64(slot))}
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
	out.state, out.open = w.text(out.rows, nil), w.text(out.rows, closed)
	out.closed = strings.Count(out.rows["contents"], `"closed": 1`)
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
	for _, order := range orders(len(list)) {
		w.prepare(1)
		answers, lengths := make([]answer, len(list)), make([]int, len(list))
		for _, i := range order {
			w.actors[i].gate.passed.Store(0)
			answers[i] = w.call(list[i], i)
			lengths[i] = int(w.actors[i].gate.passed.Load())
		}
		o := w.end(list, answers)
		o.order, o.lengths = order, lengths
		w.sound(fmt.Sprintf("%s in the order %v", key, order))
		w.reset(o.rows)
		o.rows = nil
		out = append(out, o)
	}
	w.known[key] = out
	return out
}

// orders are the permutations of so many.
func orders(n int) (out [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for _, o := range orders(n - 1) {
		for at := range n {
			out = append(out, slices.Insert(slices.Clone(o), at, n-1))
		}
	}
	return out
}

// tally counts what happened in schedules.
type tally struct{ schedules, waits, deadlocks int }

func (t *tally) add(u tally) {
	t.schedules += u.schedules
	t.waits += u.waits
	t.deadlocks += u.deadlocks
}

// beside runs the actions beside each other by a schedule, and answers what is wrong
// with what came of it; empty if nothing is.
func (w *world) beside(list []action, s schedule) (wrong string, n tally) {
	w.Helper()
	serial := w.serial(list)
	c, answers := w.runBeside(list, s)
	o := w.end(list, answers)
	defer w.reset(o.rows)
	n = tally{1, c.waits, c.deadlocks}
	var orders []string
	for _, may := range serial {
		if !c.allows(list, may) {
			continue
		}
		if o.same(list, may) {
			return "", n
		}
		orders = append(orders, fmt.Sprintf("\n%v:\n%s", may.order, differ(o, may)))
	}
	return fmt.Sprintf("%s\n%s\n%s\nIt is none of the orders, beside which it differs (- order, + schedule):%s",
		names(list), s, strings.Join(c.trace, "\n"), strings.Join(orders, "")), n
}

// runBeside runs the actions beside each other by a schedule.
func (w *world) runBeside(list []action, s schedule) (*conductor, []answer) {
	w.Helper()
	w.prepare(1)
	answers := make([]answer, len(list))
	var running sync.WaitGroup
	for i, x := range list {
		w.actors[i].gate.shut.Store(true)
		w.actors[i].gate.deadlocks.Store(0)
		running.Go(func() {
			answers[i] = w.call(x, i)
			w.events <- event{actor: i, kind: returned}
		})
	}
	c, err := w.conduct(len(list), s)
	if err != nil {
		w.Fatalf("%s\n%s\nthe schedule cannot go on: %v\n%s", names(list), s, err, strings.Join(c.trace, "\n"))
	}
	running.Wait()
	for i := range list {
		w.actors[i].gate.shut.Store(false)
		c.deadlocks += int(w.actors[i].gate.deadlocks.Load())
	}
	return c, answers
}

// allows says that the schedule may have come to what an order comes to: what closes
// comes before all that ended later, and what awaits an operation after it.
func (c *conductor) allows(list []action, may outcome) bool {
	before := func(i, j int) bool { return slices.Index(may.order, i) < slices.Index(may.order, j) }
	for i, x := range list {
		for j := range list {
			at, of := c.actors[i], c.actors[j]
			switch {
			case i == j:
			case x.closes && at.commit > 0 && of.commit > at.commit && !before(i, j):
				return false
			case x.awaits && j == i^1 && of.ops > 0 && of.ops < at.began && !before(j, i):
				return false
			}
		}
	}
	return true
}

func names(list []action) string {
	var out []string
	for i, x := range list {
		out = append(out, fmt.Sprintf("actor %d: %s", i, x.name))
	}
	return strings.Join(out, "\n")
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
	for _, side := range []struct {
		mark       string
		has, lacks []string
	}{{"-", lines(want), lines(have)}, {"+", lines(have), lines(want)}} {
		for _, line := range side.has {
			if !slices.Contains(side.lacks, line) {
				fmt.Fprintf(&out, "%s %.900s\n", side.mark, line)
			}
		}
	}
	return out.String()
}
