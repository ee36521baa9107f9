package adoptsim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// pairedOracle knows whose the objects are.
type pairedOracle struct {
	order     []adopt.Epoch // of this bucket, as they were confirmed
	turned    lethe.Time    // when production was last put back, or another took its place
	disturbed bool          // a database was copied in its place, put back or promoted, or the bucket exchanged
	other     lying         // in a bucket that may be put in the place of this one
	saved     lying         // here, earlier
}

// lying is what lies in a bucket.
type lying struct {
	objects map[string]object
	order   []adopt.Epoch
}

// never is long ago.
const never = lethe.Time(1)

// lasts is how long after a look a delete may be sent, at most.
const lasts = 10*time.Second + orphansWithin

// judge notes which databases know the last epoch.
func (s *pairedSite) judge() {
	for _, d := range s.all {
		switch knows := s.knows(d); {
		case knows && d.lost != 0:
			d.lost, d.gained = 0, s.w.now
		case !knows && d.lost == 0:
			d.lost = s.w.now
		}
	}
}

// knows reports whether a database knows the epoch that was confirmed last, and it lies there.
func (s *pairedSite) knows(d *pairedDB) bool {
	p, err := d.pairings.Paired(context.Background(), pairedAt)
	if err != nil || !d.given || len(s.order) == 0 {
		return false
	}
	last, next := s.order[len(s.order)-1], adopt.Epoch{Number: p.Number + 1, Nonce: p.Next}
	return (p.Epoch == last || next == last) && (s.objects.has(epochKey(p.Epoch)) || s.objects.has(epochKey(next)))
}

func epochKey(e adopt.Epoch) string { return fmt.Sprintf("%s%019d-%s", epochs, e.Number, e.Nonce) }

// confirmed: an epoch follows the one that was confirmed last, or one that an operator named.
func (s *pairedSite) confirmed(d *pairedDB, seen adopt.Paired) error {
	next, order := adopt.Epoch{Number: seen.Number + 1, Nonce: seen.Next}, &s.order
	if _, elsewhere := s.other.objects[epochKey(next)]; elsewhere {
		order = &s.other.order // the bucket was exchanged since it was listed
	} else if !s.objects.has(epochKey(next)) {
		return nil // or emptied
	}
	if slices.ContainsFunc(*order, func(e adopt.Epoch) bool { return e == next || e.Number > next.Number }) {
		return nil // as a copy may have, that was made in between; or it is past already
	}
	*order = append(slices.Clip(*order), next)
	exchanged := s.saved.objects != nil || s.other.objects != nil
	stray := exchanged && s.objects.has(epochKey(seen.Epoch)) // its put took so long
	if n := len(*order) - 1; n > 0 && seen.Epoch != (*order)[n-1] && seen.Epoch != d.accepted && !stray {
		return fmt.Errorf("%s goes on from %v, and %v was the last", d.name, seen.Epoch, (*order)[n-1])
	}
	return nil
}

// sends: a copy elsewhere deletes nothing before an operator gave the objects to it, and who knows
// the last epoch no more soon deletes nothing. So what another database's rows name stays.
func (s *pairedSite) sends(d *pairedDB, keys []string) error {
	s.judge()
	if !d.given {
		return fmt.Errorf("%s deletes %v, and is a copy in another place", d.name, keys)
	}
	if ago := s.w.now.Sub(d.lost); d.lost != 0 && ago > lasts+s.lag {
		return fmt.Errorf("%s deletes %v, and knows the last epoch no more since %s", d.name, keys, ago)
	}
	s.w.counts["deletes"]++
	return nil
}

// loses: production takes what its rows name only if it was put back to a backup since the delete was
// sent, or right before.
func (s *pairedSite) loses(d *pairedDB, key string, sent lethe.Time) error {
	named, err := s.prod.rows.Named(context.Background(), []string{filesPrefix + key})
	if err == nil && len(named) > 0 && d == s.prod && sent.Sub(s.turned) > lasts {
		return fmt.Errorf("%s deleted %s, which one of its rows names", d.name, key)
	}
	return err
}

// end: all that no row names goes, and nothing else is left.
func (s *pairedSite) end() {
	w, ctx := s.w, context.Background()
	w.quiet, s.lag = true, 0
	w.note("quiet")
	w.advance(w.now.Add(w.grace.Late + time.Hour))
	if s.disturbed {
		s.prod, s.turned = s.all[int(w.cfg.Seed)%len(s.all)], w.now
		s.prod.given = true
	}
	s.judge()
	p := s.pairing(s.prod)
	if _, err := p.Look(ctx); errors.Is(err, adopt.ErrUnpaired) && s.disturbed {
		err = p.Accept(ctx)
		w.fail(err)
	} else {
		w.fail(err)
	}
	for range 4 {
		w.fail(p.Admit(ctx))
		w.fail(w.pass(s.keys(s.prod, p), "end"))
		w.advance(w.now.Add(s.rules.Retention + s.rules.MinAge))
	}
	named := s.live(s.prod)
	for _, key := range s.objects.below("") {
		if !strings.HasPrefix(key, epochs) && !slices.Contains(named, filesPrefix+key) {
			w.fail(fmt.Errorf("%s is still there, and no row names it", key))
		}
	}
	for _, d := range s.all {
		if err := s.pairing(d).Admit(ctx); d != s.prod && !errors.Is(err, adopt.ErrUnpaired) {
			w.fail(fmt.Errorf("%s is admitted in the end: %v", d.name, err))
		}
	}
	if n := len(s.objects.below(epochs)); n != 2 { // the last, and the one before it
		w.fail(fmt.Errorf("%d epochs lie there in the end", n))
	}
	w.fail(p.Leave(ctx))
	if n := len(s.objects.below(epochs)); n != 0 {
		w.fail(fmt.Errorf("%d epochs are left", n))
	}
}
