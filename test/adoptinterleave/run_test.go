package adoptinterleave_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/test/interleave/stepwise"
)

// action is a method, or a transaction of the application, with what it is called with.
type action struct {
	name string
	site string
	// on are the rows and contents of the site that it changes, or goes by.
	on  []string
	app bool // it is the application's
	run func(a *act) (any, error)
	// passes: it passes by what others hold, so that it may take less than in any order;
	// it is run once more when both have ended, and answers a list of what it took. Of two
	// such it does not matter which takes what.
	passes bool
	// closes: when it has answered, whatever ends later has seen it.
	closes bool
	// unsound: what has to hold does not hold after it.
	unsound bool
	// before, if set, runs before it is run once more.
	before func(a *act) error
}

// meets says that two actions have something in common.
func (x action) meets(y action) bool {
	return x.site == y.site && !(x.app && y.app) && slices.ContainsFunc(x.on, func(name string) bool { return slices.Contains(y.on, name) })
}

// outcome is what actions made of the rows, and answered.
type outcome struct {
	stepwise.Serial // the order in which they ran
	answers         []string
	state           string
	rows            map[string]string
}

func (o outcome) lines() []string {
	var out []string
	for i, a := range o.answers {
		out = append(out, fmt.Sprintf("actor %d answers %s", i, a))
	}
	return append(out, strings.Split(o.state, "\n")...)
}

// answer is what an action answered.
type answer struct {
	text  string
	taken []string // by one that passes by what others hold
}

func (w *world) act(slot int) *act {
	return &act{actor: w.actors[slot], ctx: w.ctx, fenced: func(fence int64) { w.fences.note(fence, slot) }}
}

func (w *world) call(x action, slot int) answer {
	v, err := x.run(w.act(slot))
	if err != nil {
		return answer{text: told(err)}
	}
	if taken, ok := v.([]string); ok {
		return answer{taken: taken}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return answer{text: err.Error()}
	}
	return answer{text: string(raw)}
}

// anybody is an actor, as rows name one.
var anybody = regexp.MustCompile(`"actor \d"`)

// begin sets the clock to the first turn.
func (w *world) begin() {
	w.Helper()
	w.fences.forget()
	w.turn(0)
}

// end runs those again that may have passed something by, and returns what came of all.
func (w *world) end(list []action, answers []answer) (out outcome) {
	w.Helper()
	w.turn(1)
	for i, x := range list {
		if x.before != nil {
			if err := x.before(w.act(i)); err != nil {
				w.Fatal(err)
			}
		}
		if x.passes {
			more := w.call(x, i)
			answers[i].text += more.text
			answers[i].taken = append(answers[i].taken, more.taken...)
		}
	}
	name := w.fences.named
	if list[0].passes && list[1].passes {
		answers[0].taken = append(answers[0].taken, answers[1].taken...)
		answers[1].taken = nil
		name = func(text string) string { return anybody.ReplaceAllString(w.fences.named(text), `"somebody"`) }
	}
	for _, a := range answers {
		slices.Sort(a.taken)
		out.answers = append(out.answers, strings.Join(append([]string{a.text}, a.taken...), " "))
	}
	have, err := w.kept.Look(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	guarded, err := w.actors[0].collections["guarded"].Guarded(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	out.rows, out.state = have, fmt.Sprintf("%s\nguarded: %v", w.kept.Changes(have, nil, name), guarded)
	return out
}

// reset returns to the fixture.
func (w *world) reset(o outcome) {
	w.Helper()
	if err := w.kept.Reset(w.ctx, o.rows); err != nil {
		w.Fatal(err)
	}
	if strings.HasSuffix(o.state, "guarded: false") {
		if err := w.actors[0].collections["guarded"].InstallGuard(w.ctx); err != nil {
			w.Fatal(err)
		}
		w.guards()
	}
}

// serial returns what each order of the actions, one after the other, makes of the
// rows, and sees that it is sound.
func (w *world) serial(list []action) []outcome {
	w.Helper()
	key := strings.Join(names(list), " + ")
	if known, ok := w.known[key]; ok {
		return known
	}
	var out []outcome
	for _, order := range stepwise.Orders(len(list)) {
		w.begin()
		answers, lengths := make([]answer, len(list)), make([]int, len(list))
		for _, i := range order {
			lengths[i] = w.runner.Count(i, func() { answers[i] = w.call(list[i], i) })
		}
		o := w.end(list, answers)
		o.Serial = stepwise.Serial{Order: order, Lengths: lengths}
		if !slices.ContainsFunc(list, func(x action) bool { return x.unsound }) {
			w.sound(fmt.Sprintf("%s in the order %v", key, order))
		}
		w.reset(o)
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
	w.begin()
	answers := make([]answer, len(list))
	t, err := w.runner.Run(s, len(list), func(i int) { answers[i] = w.call(list[i], i) })
	if err != nil {
		w.Fatalf("%q\n%s\nthe schedule cannot go on: %v\n%s", names(list), s, err, strings.Join(t.Steps, "\n"))
	}
	o := w.end(list, answers)
	defer w.reset(o)
	n = stepwise.Tally{Schedules: 1, Waits: t.Waits, Deadlocks: t.Deadlocks}
	var orders []string
	for _, may := range serial {
		if !allows(t, list, may) {
			continue
		}
		if slices.Equal(o.lines(), may.lines()) {
			return "", n
		}
		orders = append(orders, fmt.Sprintf("\n%v:\n%s", may.Order, stepwise.Difference(o.lines(), may.lines())))
	}
	return stepwise.Wrong(names(list), s, t, orders), n
}

// allows says that the schedule may have come to what an order comes to: what closes
// comes before what ended later.
func allows(t *stepwise.Trace, list []action, may outcome) bool {
	first, last := list[may.Order[0]], list[may.Order[1]]
	ended := func(i int) int { return t.Actors[may.Order[i]].Last("COMMIT").Answered }
	return !(last.closes && !first.closes && ended(0) > ended(1))
}

func names(list []action) (out []string) {
	for _, x := range list {
		out = append(out, x.name)
	}
	return out
}
