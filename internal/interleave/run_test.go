package interleave_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta/metatest"
)

// outcome is what methods made of the rows, and answered.
type outcome struct {
	order   []int // in which they ran, one after the other
	answers []string
	state   string
	lengths []int // statements of each
}

// same says that nobody can tell two outcomes apart.
func (o outcome) same(p outcome) bool {
	return o.state == p.state && slices.Equal(o.answers, p.answers)
}

// call runs an action as an actor.
func (w *world) call(x action, slot int) answer {
	a := &act{ctx: w.ctx, db: w.actors[slot].db, f: w.f, slot: slot, ids: metatest.NewIDs(5000 + uint64(slot))}
	v, err := x.run(a)
	if x.eager && lethe.Refused(err) {
		return answer{text: "refused"}
	}
	return tell(v, err)
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
		out.answers = append(out.answers, a.String())
	}
	have := w.look()
	out.state = w.text(have)
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
		w.back()
		out = append(out, o)
	}
	w.known[key] = out
	return out
}

// back returns to the rows before.
func (w *world) back() {
	w.Helper()
	w.reset(w.look())
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

// beside runs the actions beside each other by a schedule, and answers what is wrong
// with what came of it; empty if nothing is.
func (w *world) beside(list []action, s schedule) (wrong string, waits int) {
	w.Helper()
	serial := w.serial(list)
	c, answers := w.runBeside(list, s)
	o := w.end(list, answers)
	defer w.back()
	var orders []string
	for _, may := range serial {
		if !c.allows(list, may) {
			continue
		}
		if o.same(may) {
			return "", c.waits
		}
		orders = append(orders, fmt.Sprintf("\n%v:\n%s", may.order, differ(o, may)))
	}
	return fmt.Sprintf("%s\n%s\n%s\nIt is none of the orders, beside which it differs (- order, + schedule):%s",
		names(list), s, strings.Join(c.trace, "\n"), strings.Join(orders, "")), c.waits
}

// runBeside runs the actions beside each other by a schedule.
func (w *world) runBeside(list []action, s schedule) (*conductor, []answer) {
	w.Helper()
	w.prepare(1)
	answers := make([]answer, len(list))
	var running sync.WaitGroup
	for i, x := range list {
		w.actors[i].gate.shut.Store(true)
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
