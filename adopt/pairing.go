package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
)

// ErrNoEpoch reports an object of another program among the epochs.
var ErrNoEpoch = errors.New("is no epoch, and was not put by Lethe")

// ErrUnpaired reports that objects below a prefix may belong to another database: a
// copy of this one is at work there, or this one is the copy, or an older state.
var ErrUnpaired = errors.New("this database and the bucket may not belong together")

// Epoch names an epoch object. Of those below a prefix the one with the highest number
// says whose objects lie there: of the database that knows its nonce.
type Epoch struct {
	Number int64
	Nonce  string
}

// Paired is a database's record of the epochs below a prefix.
type Paired struct {
	Epoch            // the last that is known to lie there; zero before the first
	Next  string     // the nonce of the one after it, which may lie there; empty if none does
	At    lethe.Time // when Epoch was recorded
	Now   lethe.Time // of this look, by the same clock: the database's
	// Elsewhere: the last epoch was begun by a database in another place, of which this one
	// is a copy, unless it was moved.
	Elsewhere bool
}

// PairingRows are the records of prefixes, by a name of bucket and prefix. Each method is
// one transaction.
type PairingRows interface {
	// Paired returns the record of a prefix, zero if there is none.
	Paired(ctx context.Context, place string) (Paired, error)
	// BeginEpoch records the nonce of the next epoch. It fails with lethe.ErrFenced
	// unless Epoch is as seen, and none is begun.
	BeginEpoch(ctx context.Context, place string, seen Epoch, nonce string) error
	// ConfirmEpoch makes the next epoch the last: lethe.ErrFenced unless both are as seen.
	ConfirmEpoch(ctx context.Context, place string, seen Paired) error
	// AcceptEpoch records an epoch, of whomever, as the last one of this database.
	AcceptEpoch(ctx context.Context, place string, last Epoch) error
}

// Pairing keeps the pairing of a database with the objects below a prefix. While the
// database works there its epoch moves on, so that a copy of it soon knows only a past one,
// as does the database after a return to a backup. Neither may delete before an operator
// says so (Accept).
//
// An epoch is recorded, put under a name that is used once, found in a listing, and confirmed. It
// lies beside the one before it, so that none counts that was put into another bucket. Of
// two databases that go on from one epoch the first to confirm keeps the prefix: the other
// finds that object beside its own. If each finds the other's, neither goes on.
//
// Listings have to show what was put. For as long as one lags, it may admit a copy in the same place
// beside the database, and refuse both; a copy elsewhere is refused without any.
type Pairing struct {
	Place  string // of the record
	Rows   PairingRows
	Store  FolderStore // keys exclude the prefix
	Boot   lethe.Clock
	Nonce  func() string // random, of letters and digits
	Worker string        // for readers of the object

	mu       sync.Mutex
	admitted lethe.Time // by Boot; 0: it has to look
}

const (
	epochFolder = probeFolder + "epoch/"
	// besideMark begins the nonce of an epoch whose predecessor stays beside it. Earlier builds did
	// not write it, and removed the predecessor.
	besideMark = "2-"
	// epochAge is the age at which an epoch is replaced.
	epochAge = 30 * time.Second
	// admittedFor is how long a look holds.
	admittedFor = 10 * time.Second
	// pairingTries is how often a look is repeated while other instances move on.
	pairingTries = 5
)

// Admit returns nil if objects below the prefix may be put and deleted now; ErrUnpaired. The
// first to be admitted below a prefix takes it for its database.
func (p *Pairing) Admit(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Boot.Now()
	if p.admitted != 0 && now.Sub(p.admitted) < admittedFor {
		return nil
	}
	p.admitted = 0
	if err := p.advance(ctx); err != nil {
		return err
	}
	p.admitted = now
	return nil
}

// Around implements intercept.Hook: what may belong to another database is not changed.
func (p *Pairing) Around(c *intercept.Call) error {
	switch c.Op {
	case intercept.Put, intercept.Delete, intercept.Copy, intercept.Sweep:
		if err := p.Admit(c.Ctx); err != nil {
			return fmt.Errorf("%w: %w: %w", blob.ErrNotDone, blob.ErrDown, err)
		}
	}
	return c.Next()
}

// Look returns the record of the prefix, and changes nothing: ErrUnpaired.
func (p *Pairing) Look(ctx context.Context) (Paired, error) {
	seen, _, err := p.look(ctx)
	return seen, err
}

// Accept gives the prefix to this database: an operator says that its rows are those of
// the objects there. All other databases are refused at their next look, within admittedFor. A
// delete that was admitted before may be sent, and take effect, later.
func (p *Pairing) Accept(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	found, err := p.list(ctx)
	if err != nil {
		return err
	}
	var last Epoch
	if len(found) > 0 {
		last = found[len(found)-1]
	}
	if err := p.Rows.AcceptEpoch(ctx, p.Place, last); err != nil {
		return err
	}
	return p.advance(ctx)
}

// Leave removes the epochs of this database: ErrUnpaired. Its record is to go next.
func (p *Pairing) Leave(ctx context.Context) error {
	_, found, err := p.look(ctx)
	if err != nil {
		return err
	}
	return p.remove(ctx, found)
}

// advance looks, and replaces the epoch if it is old.
func (p *Pairing) advance(ctx context.Context) error {
	for range pairingTries {
		seen, _, err := p.look(ctx)
		if err != nil {
			return err
		}
		if seen.Number > 0 && seen.Next == "" && seen.Now.Sub(seen.At) < epochAge {
			return nil
		}
		if seen.Next == "" {
			seen.Next = besideMark + p.Nonce()
			err = p.Rows.BeginEpoch(ctx, p.Place, seen.Epoch, seen.Next)
		}
		if err == nil {
			err = p.complete(ctx, seen)
		}
		if !errors.Is(err, lethe.ErrFenced) { // by another instance, which went on
			return err
		}
	}
	return fmt.Errorf("the epoch below %s moves on too fast", p.Place)
}

// complete puts an epoch that was begun, and confirms it.
func (p *Pairing) complete(ctx context.Context, begun Paired) error {
	next := Epoch{begun.Number + 1, begun.Next}
	text := "Put by lethe adopt on " + p.Worker + ". The highest number here says which database may delete below\n" +
		"this prefix. Do not copy or remove it: \"lethe adopt remove\" does.\n"
	if err := p.Store.Put(ctx, next.key(), strings.NewReader(text), int64(len(text))); err != nil && !errors.Is(err, blob.ErrExist) {
		return fmt.Errorf("put an epoch below %s: %w", p.Place, err)
	}
	seen, found, err := p.look(ctx)
	switch {
	case err != nil:
		return err
	case seen.Epoch != begun.Epoch || seen.Next != begun.Next:
		return lethe.ErrFenced
	case !slices.Contains(found, next):
		return fmt.Errorf("the epoch %s was put below %s, and is not listed", next.key(), p.Place)
	}
	if err := p.Rows.ConfirmEpoch(ctx, p.Place, seen); err != nil {
		return err
	}
	old := slices.DeleteFunc(found, func(e Epoch) bool { return e.Number >= begun.Number })
	_ = p.remove(ctx, old) // what is left goes the next time
	return nil
}

// look compares the record with what lies there. Another instance may move on meanwhile,
// so a difference counts only if the record has not changed.
func (p *Pairing) look(ctx context.Context) (seen Paired, found []Epoch, err error) {
	for i := range pairingTries {
		before := seen
		if seen, err = p.Rows.Paired(ctx, p.Place); err != nil {
			return seen, nil, err
		}
		if i > 0 && before.Epoch == seen.Epoch && before.Next == seen.Next {
			return seen, found, fmt.Errorf("%w: %s", ErrUnpaired, p.differ(seen, found))
		}
		if found, err = p.list(ctx); err != nil {
			return seen, nil, err
		}
		if p.differ(seen, found) == "" {
			return seen, found, nil
		}
	}
	return seen, found, fmt.Errorf("the epoch below %s moves on too fast", p.Place)
}

// differ returns why a database and what lies below the prefix may not belong together,
// empty if they do.
func (p *Pairing) differ(seen Paired, found []Epoch) string {
	next := Epoch{seen.Number + 1, seen.Next}
	var last []Epoch // of the highest number
	for _, e := range found {
		if e.Number == found[len(found)-1].Number {
			last = append(last, e)
		}
	}
	switch {
	case seen.Elsewhere:
		return "the record of " + p.Place + " was written by a database in another place: this one is a copy of it or was restored, unless it was moved"
	case len(found) == 0 && seen.Number == 0:
		return ""
	case len(found) == 0:
		return "no epoch lies below " + p.Place + " any more: another bucket or disk is in its place, or it was emptied or restored"
	case slices.Contains(last, seen.Epoch) && seen.alone(found):
		return "the last epoch lies below " + p.Place + " without the one before it: another bucket or disk is in its place, or it was emptied, while the epoch was put, or an instance of an earlier Lethe that works beside this one took that away"
	case slices.Contains(last, seen.Epoch), len(last) == 1 && last[0] == next && (seen.Number == 0 || slices.Contains(found, seen.Epoch)):
		return "" // the next lies beside the one before it, unless it was put into another bucket
	case seen.Number == 0:
		return "another database deletes below " + p.Place + ", or did so, or this one with another schema (" + last[0].key() + ")"
	case last[0].Number < seen.Number:
		return "an older epoch lies below " + p.Place + " (" + last[0].key() + "): the bucket was restored, or another is in its place"
	}
	return "another database has gone on below " + p.Place + " (" + last[0].key() + "): it is a copy of this one, or this one is the copy, or was restored, or another bucket is in its place"
}

// alone reports whether the last epoch lies there without one before it: one process found it
// where it belongs, and a late put of another brought it into the bucket that took that one's
// place. The first has none before it, nor need one that an operator accepted, nor one of an
// earlier build.
func (seen Paired) alone(found []Epoch) bool {
	return seen.Number > 1 && seen.At != 0 && strings.HasPrefix(seen.Nonce, besideMark) &&
		!slices.ContainsFunc(found, func(e Epoch) bool { return e.Number == seen.Number-1 })
}

// list returns the epochs below the prefix, in order.
func (p *Pairing) list(ctx context.Context) (found []Epoch, err error) {
	err = p.Store.List(ctx, epochFolder, "", func(i blob.Info) error {
		number, nonce, _ := strings.Cut(strings.TrimPrefix(i.Key, epochFolder), "-")
		n, err := strconv.ParseInt(number, 10, 64)
		e := Epoch{n, strings.Clone(nonce)}
		if err != nil || nonce == "" || e.key() != i.Key {
			return fmt.Errorf("%q %w", i.Key, ErrNoEpoch)
		}
		found = append(found, e)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("look for the epoch below %s: %w", p.Place, err)
	}
	return found, err
}

func (p *Pairing) remove(ctx context.Context, old []Epoch) error {
	if len(old) == 0 {
		return nil
	}
	keys := make([]string, len(old))
	for i, e := range old {
		keys[i] = e.key()
	}
	results, err := p.Store.Delete(ctx, keys)
	for _, keyErr := range blob.Outcomes(keys, results, err) {
		if !blob.Gone(keyErr) {
			return fmt.Errorf("remove an epoch below %s: %w", p.Place, keyErr)
		}
	}
	return nil
}

func (e Epoch) key() string { return fmt.Sprintf("%s%019d-%s", epochFolder, e.Number, e.Nonce) }
