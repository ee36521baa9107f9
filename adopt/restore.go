package adopt

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Name returns the routine's name in runs and metrics.
func (q *Quarantine) Name() string { return "quarantine " + q.Collection }

// Plan counts the objects in quarantine.
func (q *Quarantine) Plan(ctx context.Context) (Backlog, error) { return q.Rows.InQuarantine(ctx) }

// Pass processes every recorded object: it copies back what is referenced
// again, and deletes copies that are past their retention or not needed. Each hour
// it looks for copies without a record as well.
func (q *Quarantine) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	p := &quarantinePass{Quarantine: q}
	return p.step
}

// quarantinePass is a pass in progress.
type quarantinePass struct {
	*Quarantine
	after   string // the last recorded object, or listed copy, that was looked at
	listing bool   // copies are looked at
	listed  bool   // all of them were
	found   int    // copies without a record whose objects something refers to
}

func (p *quarantinePass) step(ctx context.Context, add func(string, int64)) (bool, error) {
	if p.listing {
		return p.recall(ctx)
	}
	page, err := p.Rows.Page(ctx, p.after, p.Batch)
	if err != nil {
		return false, err
	}
	c := &pageStep{Quarantine: p.Quarantine, add: add, now: page.Now}
	if err := c.page(ctx, page.Objects, false); err != nil {
		return false, err
	}
	if len(page.Objects) == p.Batch {
		p.after = page.Objects[len(page.Objects)-1].Key
		return true, nil
	}
	if p.after = ""; p.listed {
		return false, nil
	}
	swept, err := p.abortAbandoned(ctx, page.Now)
	if err != nil || !swept {
		return false, err
	}
	return p.recall(ctx)
}

// recall looks for copies without a record. What is found is copied back.
func (p *quarantinePass) recall(ctx context.Context) (more bool, err error) {
	n, after, err := p.recallNamed(ctx, p.after)
	if err != nil {
		return false, err
	}
	p.found, p.after, p.listing = p.found+n, after, after != ""
	if p.listing {
		return true, nil
	}
	p.listed, p.swept = true, p.Boot.Now()
	return p.found > 0, nil
}

// Has reports whether a whole key belongs to the collection.
func (q *Quarantine) Has(key string) bool {
	_, ok := below(key, q.Prefix)
	return ok
}

// Restore copies an object back although nothing refers to it.
func (q *Quarantine) Restore(ctx context.Context, key string) error {
	known, err := q.Rows.Want(ctx, key)
	if err == nil && !known {
		if known, err = q.recallOne(ctx, key); known {
			known, err = q.Rows.Want(ctx, key)
		}
	}
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("%q is not in quarantine", key)
	}
	restored := false
	c := &pageStep{Quarantine: q, add: func(what string, n int64) { restored = restored || what == "restored" && n > 0 }}
	if err := c.restore(ctx, []string{key}); err != nil {
		return err
	}
	if !restored {
		rest, _ := below(key, q.Prefix)
		if _, err := q.Objects.StatForeign(ctx, rest); err != nil {
			return fmt.Errorf("%q was not restored now; the next run tries again: %w", key, err)
		}
	}
	return nil
}

// PurgeNow deletes the copies that are not referenced or known, before their
// retention is over, and returns how many.
func (q *Quarantine) PurgeNow(ctx context.Context) (purged int64, err error) {
	for after := ""; ; {
		page, err := q.Rows.Page(ctx, after, q.Batch)
		if err != nil || len(page.Objects) == 0 {
			return purged, err
		}
		after = page.Objects[len(page.Objects)-1].Key
		c := &pageStep{Quarantine: q, now: page.Now, add: func(what string, n int64) {
			if what == "purged" {
				purged += n
			}
		}}
		if err := c.page(ctx, page.Objects, true); err != nil {
			return purged, err
		}
	}
}

// pageStep processes a page of recorded objects.
type pageStep struct {
	*Quarantine
	add func(string, int64)
	now lethe.Time // by the database's clock
}

// page processes some objects.
func (c *pageStep) page(ctx context.Context, held []QuarantinedObject, early bool) error {
	var back, over, spare []string
	odd, why := 0, ""
	for _, h := range held {
		switch {
		case h.Due > c.now:
		case h.State == Moving: // its worker is silent, and the object is untouched
			spare = append(spare, h.Key)
		case !h.Named && !h.Wanted:
			if !h.Known && h.Late <= c.now && (early || h.Until <= c.now) {
				over = append(over, h.Key)
			}
		default:
			there, needless, err := c.inPlace(ctx, h)
			switch {
			case errors.Is(err, errUnseen): // the others do not wait for it
				odd, why = odd+1, err.Error()
			case err != nil:
				return err
			case !there:
				back = append(back, h.Key)
			case needless && h.Late <= c.now:
				spare = append(spare, h.Key)
			}
		}
	}
	c.Events.failed(c.Collection, odd, why)
	if c.RestoresOnly.Load() && !early {
		return c.restore(ctx, back)
	}
	return errors.Join(c.restore(ctx, back), c.purge(ctx, ClaimRequest{Keys: over, Early: early}), c.purge(ctx, ClaimRequest{Keys: spare, Spare: true}))
}

// errUnseen reports that an object, or its copy, cannot be looked at.
var errUnseen = errors.New("it cannot be looked at")

// unseen adds errUnseen to an error that is of one object.
func unseen(key string, err error) error {
	if errors.Is(err, blob.ErrDown) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("look at %s: %w", key, err)
	}
	return fmt.Errorf("%s: %w: %w", key, errUnseen, err)
}

// inPlace reports whether a wanted object is at its original key, and whether
// its copy is not needed: the backend vouches for equal bytes, or the copy was
// kept long enough.
func (c *pageStep) inPlace(ctx context.Context, h QuarantinedObject) (there, needless bool, err error) {
	rest, ok := below(h.Key, c.Prefix)
	if !ok || h.Copy != c.Into+h.Key {
		return false, false, fmt.Errorf("%q lies in quarantine as %q: the description had another prefix then; set it back", h.Key, h.Copy)
	}
	object, err := c.Objects.StatForeign(ctx, rest)
	if errors.Is(err, blob.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, unseen(h.Key, err)
	}
	if h.Until <= c.now || h.State == Purging {
		return true, true, nil
	}
	copied, err := c.Copies.StatForeign(ctx, h.Key)
	if errors.Is(err, blob.ErrNotExist) {
		return true, true, nil
	}
	if err != nil {
		return false, false, unseen(h.Copy, err)
	}
	return true, likenessOf(object, copied) == identical, nil
}

// restore copies objects back.
func (c *pageStep) restore(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	began := c.Boot.Now()
	fence, claimed, err := c.Rows.Claim(ctx, ClaimRequest{Keys: keys, For: Restoring, Late: c.Grace.Landed()})
	if err != nil {
		return err
	}
	var back, left, lost []string
	why := ""
	for _, key := range claimed {
		switch err := c.copyBack(inTime(ctx, c.Boot, began, c.Grace.sendWithin()), claim{key, fence, began.Add(c.Grace.Landed())}); {
		case err == nil:
			back = append(back, key)
		case errors.Is(err, errNoCopy):
			lost = append(lost, key)
		case !blob.Unknown(err):
			left = append(left, key)
			if !errors.Is(err, blob.ErrExist) {
				why = err.Error()
			}
		default: // this worker keeps it until the copy cannot take effect any more
			why = err.Error()
		}
	}
	c.add("restored", int64(len(back)))
	c.Events.restored(c.Collection, back)
	if why != "" {
		c.Events.failed(c.Collection, len(claimed)-len(back)-len(lost), why)
	}
	gone, err := c.end(ctx, fence, map[QuarantineOutcome][]string{Restored: back, Left: left, Lost: lost})
	c.Events.lost(c.Collection, gone)
	return err
}

// end records the outcome of claimed objects, and returns those that are lost.
func (c *pageStep) end(ctx context.Context, fence int64, ends map[QuarantineOutcome][]string) (gone []string, err error) {
	for _, how := range []QuarantineOutcome{Left, Restored, Purged, Lost} {
		if len(ends[how]) == 0 {
			continue
		}
		ended, also := c.Rows.End(context.WithoutCancel(ctx), fence, ends[how], how)
		err = errors.Join(err, also)
		if how == Lost {
			gone = ended
		}
	}
	return gone, err
}

// errNoCopy reports that the copy of an object to restore is missing.
var errNoCopy = errors.New("its copy is gone")

// claim is a claimed object.
type claim struct {
	key    string
	fence  int64
	before lethe.Time // until when this worker has it, by Boot
}

// copyBack copies an object back, and compares it.
func (c *pageStep) copyBack(ctx context.Context, of claim) error {
	key := of.key
	rest, ok := below(key, c.Prefix)
	if !ok {
		return fmt.Errorf("%q lies outside of the prefix %q: %w", Brief(key), c.Prefix, blob.ErrInvalidKey)
	}
	seen, err := c.Copies.StatForeign(ctx, key)
	if errors.Is(err, blob.ErrNotExist) {
		if _, there := c.Objects.StatForeign(ctx, rest); errors.Is(there, blob.ErrNotExist) {
			return errNoCopy
		}
		return fmt.Errorf("%w: %w", blob.ErrNotDone, plain{err})
	}
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, plain{err})
	}
	ctx = c.recording(ctx, Upload{Key: key, Fence: of.fence, Name: key})
	if err := c.Objects.CopyForeign(ctx, c.Copies, seen, rest, true); err != nil {
		return err
	}
	back, err := c.Objects.StatForeign(ctx, rest)
	if err == nil {
		err = comparer{a: c.Objects, b: c.Copies, before: of.before, boot: c.Boot}.same(ctx, back, seen)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrUnknown, plain{err})
	}
	return nil
}

// purge deletes copies.
func (c *pageStep) purge(ctx context.Context, what ClaimRequest) error {
	if len(what.Keys) == 0 {
		return nil
	}
	if c.Enough != nil && !what.Spare {
		if err := c.Enough(ctx); err != nil {
			return err
		}
	}
	began := c.Boot.Now()
	what.For, what.Late = Purging, c.Grace.Landed()
	fence, claimed, err := c.Rows.Claim(ctx, what)
	if err != nil || len(claimed) == 0 {
		return err
	}
	results, err := c.Copies.Delete(inTime(ctx, c.Boot, began, c.Grace.sendWithin()), claimed)
	var gone, left []string
	why := ""
	for i, keyErr := range blob.Outcomes(claimed, results, err) {
		switch {
		case blob.Gone(keyErr):
			gone = append(gone, claimed[i])
		case !blob.Unknown(keyErr):
			left = append(left, claimed[i])
			why = keyErr.Error()
		default:
			why = keyErr.Error()
		}
	}
	c.add("purged", int64(len(gone)))
	c.Events.failed(c.Collection, len(claimed)-len(gone), why)
	_, ended := c.end(ctx, fence, map[QuarantineOutcome][]string{Purged: gone, Left: left})
	return errors.Join(err, ended)
}
