package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// paired reports whether the real Pairing pairs ledger and backends in this
// world, that copies of the ledger and of backends are about, and that clocks go
// wrong.
func (w *World) paired() bool { return !w.cfg.Plans && hash2(w.cfg.Seed, 80)%8 == 0 }

// doubts is what is wrong with epochs and clocks, and what of it is known. Turns
// number the moments at which an actor went on.
type doubts struct {
	skew     map[string]time.Duration     // of the backends' clocks
	skewed   map[string]int               // in which turn that changed
	behind   time.Duration                // the machine's clock, of the ledger's
	ahead    time.Duration                // likewise
	stood    time.Duration                // for how long the ledger's clock stood still
	since    int                          // in which turn it was set back, or forward
	touched  map[string]int               // when the epochs of a backend changed by other hands
	hidden   map[string]map[string][]byte // epochs of a backend that is not mounted
	held     map[string]string            // why deletes are held, as the ledger was told
	moves    map[string][]move            // of that, and of the epoch in the ledger
	strange  map[string]int               // since which turn that is because of the ledger
	unlike   map[string]bool              // clocks that are noted as being in doubt
	accepted map[string]bool              // by a person, who is at it
}

func newDoubts() doubts {
	return doubts{
		skew: map[string]time.Duration{}, skewed: map[string]int{}, touched: map[string]int{}, hidden: map[string]map[string][]byte{},
		held: map[string]string{}, strange: map[string]int{}, moves: map[string][]move{}, unlike: map[string]bool{}, accepted: map[string]bool{},
	}
}

// move is a change of what the ledger says of a backend.
type move struct {
	turn int
	by   *actor
}

func (d *doubts) move(backend string, w *World) {
	d.moves[backend] = append(d.moves[backend], move{w.turn, w.cur})
}

// moved says whether that changed since a turn, and whether nobody else did it.
func (d *doubts) moved(backend string, turn int, a *actor) (moved, alone bool) {
	alone = true
	for _, m := range d.moves[backend] {
		if m.turn >= turn {
			moved, alone = true, alone && m.by == a
		}
	}
	return moved, alone
}

// machine is the clock of the machine of the ledger, which may have been set back or
// forward.
type machine struct{ w *World }

func (m machine) Now() lethe.Time { return m.w.now.Add(m.w.doubts.ahead - m.w.doubts.behind) }

// uptime is the clock of that machine which nobody sets.
type uptime struct{ w *World }

func (u uptime) Now() lethe.Time { return u.w.now.Add(u.w.doubts.stood) }

// apart is a backend's clock.
type apart struct {
	w  *World
	id string
}

func (c apart) Now() lethe.Time { return c.w.now.Add(c.w.doubts.skew[c.id]) }

// caughtUp is how far the ledger's clock goes on when the machine's does: not at all
// before that has caught up.
func (w *World) caughtUp(to lethe.Time) lethe.Time {
	d := max(0, min(to.Sub(w.now), w.doubts.behind))
	w.doubts.behind -= d
	w.doubts.stood += d
	return to.Add(-d)
}

// nodePairing is the real Pairing of a node, and whom it has seen to fit.
type nodePairing struct {
	w     *World
	g     *pairing.Pairing
	seen  map[string]bool
	heard bool // one of them was asked whom it belongs to
}

func (w *World) newPairing(l *seam, stores map[string]blob.Store) *nodePairing {
	return &nodePairing{w: w, g: &pairing.Pairing{Ledger: l, Stores: stores, Clock: w, Draw: rand.New(rand.NewPCG(w.cfg.Seed, 80)).Int64N}, seen: map[string]bool{}}
}

// Check asks it, and holds what it says against what is.
func (p *nodePairing) Check(ctx context.Context, id string) error {
	if !p.w.paired() {
		return nil
	}
	return p.ask(ctx, id, p.g.Check)
}

// Admit is Check: a node waits for no beat.
func (p *nodePairing) Admit(ctx context.Context, id string) error { return p.Check(ctx, id) }

// admit is what Clean asks before its first delete.
func (p *nodePairing) admit() func(context.Context, string) error {
	if !p.w.paired() {
		return nil
	}
	return p.Check
}

func (p *nodePairing) ask(ctx context.Context, id string, call func(context.Context, string) error) error {
	w, turn, before, strange := p.w, p.w.turn, p.w.misfit(id), p.w.strange(id)
	w.asks()
	err := call(ctx, id)
	moved, alone := w.doubts.moved(id, turn, w.cur)
	still := before != "" && w.doubts.touched[id] <= turn && alone
	switch {
	case err == nil && still && (moved || w.misfit(id) != ""):
		w.fail(broken("the guard trusts backend %s: %s", id, before))
	case errors.Is(err, lethe.ErrBackendMismatch) && still && w.doubts.held[id] == "":
		w.fail(broken("the guard refuses backend %s, and does not hold it: %s", id, before))
	case errors.Is(err, lethe.ErrBackendMismatch) && still && strange && w.strange(id):
		w.fail(p.doubted(ctx, id))
	}
	if err == nil {
		p.seen[id] = true
	}
	return err
}

// confirmed is what the loop asks before each step.
func (p *nodePairing) confirmed(ctx context.Context) error {
	p.w.asks()
	return p.g.Confirmed(ctx)
}

// asks notes when an actor begins to ask.
func (w *World) asks() {
	if a := w.cur; a != nil {
		a.asked, a.askedAt = w.turn, w.now
	}
}

// doubted notes that a backend is held because of the ledger, which the gate has to
// know from now on.
func (p *nodePairing) doubted(ctx context.Context, id string) error {
	d := &p.w.doubts
	if err := p.g.Confirmed(ctx); !errors.Is(err, lethe.ErrBackendMismatch) {
		return broken("backend %s is refused because of the ledger, and the gate is open", id)
	}
	if !known(d.strange, id) {
		d.strange[id] = p.w.turn
	}
	return nil
}

// accept is the person's decision, with what is to be done by hand before it.
func (p *nodePairing) accept(id string) error {
	w, turn := p.w, p.w.turn
	for _, key := range w.epochs(id) {
		if _, ok := w.epoch(key); !ok {
			w.disks[id].Lose(key)
		}
	}
	w.asks()
	w.doubts.accepted[id] = true
	defer delete(w.doubts.accepted, id) // also if the process dies
	err := p.g.Accept(context.Background(), id)
	_, alone := w.doubts.moved(id, turn, w.cur)
	if why := w.misfit(id); err == nil && why != "" && w.doubts.touched[id] <= turn && alone {
		w.fail(broken("backend %s was accepted, and does not fit: %s", id, why))
	}
	return err
}

// envoy keeps the pairing of a process, at its start and hourly.
func envoy(a *actor) {
	for {
		p := a.proc.node.pairing
		for _, id := range a.w.backends() {
			err := p.ask(context.Background(), id, p.g.Advance)
			a.w.note("%s: %s %s", a.name, id, class(err))
			a.w.say(err)
		}
		a.pause(time.Hour)
	}
}

// meddler is who copies ledgers and backends, unmounts disks and sets clocks; and the
// person who looks into it and decides.
func meddler(a *actor) {
	w := a.w
	rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(9000+a.proc.life)))
	for {
		a.pause(time.Duration(rng.IntN(30*60)) * time.Second)
		id := pick(rng, w.backends())
		switch n := rng.IntN(14); {
		case n < 2:
			w.usurp(id, 1+rng.Int64N(1<<37), pick(rng, usurpers))
		case n == 2:
			w.unmount(id)
		case n == 3:
			w.putBack(id)
		case n < 6:
			w.doubts.skew[id], w.doubts.skewed[id] = drawSkew(rng), w.turn
			w.note("the clock of backend %s is off by %s", id, w.doubts.skew[id])
		case n == 6 && rng.IntN(2) == 0:
			w.stray()
		case n < 8:
			w.setBack(time.Duration(rng.IntN(180)) * time.Minute)
		case n < 10:
			w.setForward(safety.ClockJump + time.Duration(1+rng.IntN(72*60))*time.Minute)
		default:
			w.settle(a, id)
		}
	}
}

func drawSkew(rng *rand.Rand) time.Duration {
	d := time.Duration(rng.IntN(12)) * time.Minute
	switch rng.IntN(3) {
	case 0:
		d = time.Duration(20+rng.IntN(300)) * time.Minute
	case 1:
		return 0
	}
	if rng.IntN(2) == 0 {
		return -d
	}
	return d
}

// settle mounts what is not mounted, or accepts what is held, and again if that failed.
func (w *World) settle(a *actor, id string) {
	if w.mount(id) || w.doubts.held[id] == "" {
		return
	}
	for range 3 {
		err := a.proc.node.pairing.accept(id)
		w.note("%s accepts %s: %s", a.name, id, class(err))
		w.say(err)
		if err == nil {
			return
		}
	}
}

// usurpers are the epochs that a copy of the ledger writes beyond the last one, of which
// it knows: as its next, as one that a person has given it, and as a challenge, which was
// on its way since before a person decided, or was not.
var usurpers = []func(n, last, accepted int64) string{
	func(int64, int64, int64) string { return "{}" },
	func(n, _, _ int64) string { return fmt.Sprintf(`{"accepted":%d}`, n) },
	func(_, last, _ int64) string { return fmt.Sprintf(`{"challenge":true,"after":%d}`, last) },
	func(_, _, accepted int64) string {
		return fmt.Sprintf(`{"challenge":true,"after":%d}`, max(accepted-1, 0))
	},
}

// usurp has a copy of the ledger take the backend over.
func (w *World) usurp(id string, by int64, body func(n, last, accepted int64) string) {
	last := int64(0)
	for _, key := range w.epochs(id) {
		if n, ok := w.epoch(key); ok {
			last = max(last, n)
		}
	}
	w.disks[id].Set(w.epochKey(last+by), []byte(body(last+by, last, w.row(id).Accepted)))
	w.tampered(id, "is taken over by a copy")
}

// unmount hides the epochs of a backend, mount brings them back.
func (w *World) unmount(id string) {
	if len(w.doubts.hidden[id]) > 0 {
		return
	}
	hidden := map[string][]byte{}
	for _, key := range w.epochs(id) {
		hidden[key], _ = w.disks[id].Bytes(key)
		w.disks[id].Lose(key)
	}
	w.doubts.hidden[id] = hidden
	w.tampered(id, "is not mounted")
}

func (w *World) mount(id string) bool {
	hidden := w.doubts.hidden[id]
	if len(hidden) == 0 {
		return false
	}
	for key, body := range hidden {
		w.disks[id].Set(key, body)
	}
	delete(w.doubts.hidden, id)
	w.tampered(id, "is mounted again")
	return true
}

// putBack puts an older copy in a backend's place, as far as its epoch tells.
func (w *World) putBack(id string) {
	keys := w.epochs(id)
	if len(keys) == 0 {
		return
	}
	n, ok := w.epoch(keys[len(keys)-1])
	if !ok || n < 2 {
		return
	}
	for _, key := range keys {
		w.disks[id].Lose(key)
	}
	w.disks[id].Set(w.epochKey(n-1), []byte("{}"))
	w.tampered(id, "is an older copy")
}

// stray has the ledger opened in another place, as a copy is: all processes start, and
// the deletes on all backends are held from before that.
func (w *World) stray() {
	rows, err := w.ledger.Backends(context.Background())
	w.fail(err)
	for _, b := range rows {
		w.fail(w.ledger.ChangeHold(context.Background(), b, ledger.BackendHold{For: ledger.HeldForLedger, Reason: "another place"}))
		w.tampered(b.ID, "is held, as the ledger was moved")
		w.fail(w.oracle.suspends(b.ID, "another place", false))
		w.doubts.strange[b.ID] = w.turn
	}
	for _, p := range w.procs {
		p.die()
	}
}

func (w *World) tampered(id, how string) {
	w.doubts.touched[id] = w.turn
	w.note("backend %s %s", id, how)
}

// setBack sets the clock of the ledger's machine back: the ledger's own stands still
// until it has caught up. It is not corrected in part, which would count as set forward.
func (w *World) setBack(by time.Duration) {
	_, err := w.ledger.LedgerTime(context.Background())
	w.fail(err)
	by = max(by, w.doubts.behind)
	w.doubts.behind, w.doubts.ahead, w.doubts.since = by, 0, w.turn
	w.note("the machine's clock is set back by %s", by)
}

// setForward sets it forward, or right again: the ledger's own goes on as before.
func (w *World) setForward(by time.Duration) {
	_, err := w.ledger.LedgerTime(context.Background())
	w.fail(err)
	if w.doubts.ahead > 0 || w.doubts.behind > 0 {
		by = 0
	}
	w.doubts.ahead, w.doubts.since = by, w.turn
	w.note("the machine's clock is set forward by %s", by)
}

// trusted ends all doubts, as a person would.
func (w *World) trusted(n *node) {
	if !w.paired() || w.err != nil {
		return
	}
	w.doubts.stood += w.doubts.behind // it waits until the clock has caught up
	w.doubts.behind, w.doubts.ahead = 0, 0
	clear(w.doubts.skew)
	for _, id := range w.backends() {
		w.mount(id)
		if err := n.pairing.ask(context.Background(), id, n.pairing.g.Advance); err != nil {
			w.say(err)
			w.fail(n.pairing.accept(id))
			w.fail(n.pairing.ask(context.Background(), id, n.pairing.g.Advance))
		}
		if w.doubts.held[id] != "" || w.doubts.unlike[id] {
			w.fail(broken("backend %s stays in doubt: %q, its clock: %v", id, w.doubts.held[id], w.doubts.unlike[id]))
		}
	}
	if err := n.pairing.confirmed(context.Background()); err != nil {
		w.fail(broken("the ledger stays in doubt: %w", err))
	}
}

func (w *World) epochKey(n int64) string { return fmt.Sprintf("%s/epoch/%019d", w.store, n) }

func (w *World) isEpoch(key string) bool { return strings.HasPrefix(key, string(w.store)+"/epoch/") }

// epochs are the epoch objects of a backend, oldest first.
func (w *World) epochs(id string) (keys []string) {
	if !w.paired() {
		return nil
	}
	for _, key := range w.disks[id].Keys() {
		if w.isEpoch(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// epoch is the number of an epoch object; ok is false of what is none.
func (w *World) epoch(key string) (n int64, ok bool) {
	_, err := fmt.Sscanf(key[strings.LastIndex(key, "/")+1:], "%d", &n)
	return n, err == nil && w.epochKey(n) == key
}

// misfit says why ledger and backend do not belong together, or nothing.
func (w *World) misfit(id string) string {
	b := w.row(id)
	keys := w.standing(b)
	if len(keys) == 0 {
		if b.Epoch > 0 {
			return fmt.Sprintf("it carries no epoch, %d was confirmed", b.Epoch)
		}
		return ""
	}
	switch n, ok := w.epoch(keys[len(keys)-1]); {
	case !ok:
		return "its epoch cannot be read"
	case n != b.Epoch && n != b.Intended:
		return fmt.Sprintf("it is at epoch %d, the ledger at %d, %d intended", n, b.Epoch, b.Intended)
	case n == b.Intended && b.Epoch > 0 && !slices.Contains(keys, w.epochKey(b.Epoch)):
		return fmt.Sprintf("it carries epoch %d and not %d", n, b.Epoch)
	case len(keys) > 1 && n == b.Intended && keys[len(keys)-2] > w.epochKey(b.Epoch):
		return fmt.Sprintf("%s lies before epoch %d, which follows %d", keys[len(keys)-2], n, b.Epoch)
	}
	return ""
}

// standing are the epoch objects of a backend without the challenges that a person has
// answered by giving it to the ledger.
func (w *World) standing(b ledger.Backend) (keys []string) {
	for _, key := range w.epochs(b.ID) {
		var said struct {
			Challenge bool
			After     int64
		}
		body, _ := w.disks[b.ID].Bytes(key)
		if json.Unmarshal(body, &said) == nil && said.Challenge && said.After < b.Accepted && key > w.epochKey(b.Epoch) {
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// row is a backend as the ledger has it.
func (w *World) row(id string) (row ledger.Backend) {
	rows, err := w.ledger.Backends(context.Background())
	w.fail(err)
	for _, b := range rows {
		if b.ID == id {
			row = b
		}
	}
	return row
}

// strange says that backend and ledger do not belong together because of the ledger,
// which is an older copy, or one of two.
func (w *World) strange(id string) bool {
	b := w.row(id)
	keys := w.standing(b)
	if len(keys) == 0 {
		return false
	}
	n, ok := w.epoch(keys[len(keys)-1])
	return ok && n > b.Epoch && n != b.Intended
}

func known(m map[string]int, id string) bool {
	_, ok := m[id]
	return ok
}

// confirmedBeyond: an epoch object goes only once a later one is confirmed.
func (w *World) confirmedBeyond(id, key string) error {
	if b := w.row(id); key >= w.epochKey(b.Epoch) {
		return broken("epoch object %s of %s is deleted, and %d is confirmed", key, id, b.Epoch)
	}
	return nil
}
