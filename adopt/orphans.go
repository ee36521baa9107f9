package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/blob"
)

// orphanWithin bounds the time between condemning an orphan and sending its
// delete.
const orphanWithin = time.Minute

// record records orphans, and keeps those that are due for the end of the comparison: only then is
// it known whether the description is plausible.
func (k *Keys) record(ctx context.Context, c *comparison, found []OrphanObject) error {
	if k.Only != nil {
		all := len(found)
		found = slices.DeleteFunc(found, func(o OrphanObject) bool { return !k.Only[o.Key] })
		c.without += int64(all - len(found))
	}
	if len(found) == 0 {
		return nil
	}
	seen, err := k.Rows.See(ctx, Seeing{found, k.Rules.Retention, c.left, true})
	if err != nil {
		return err
	}
	c.without += int64(seen.Orphans)
	c.add("orphans", int64(seen.Orphans))
	c.add("held", int64(seen.Held))
	c.left -= len(seen.Condemned)
	due := set(seen.Condemned)
	for _, o := range found {
		if due[o.Key] {
			c.due = append(c.due, o)
		}
	}
	return nil
}

// reclaim deletes recorded orphans that are due.
func (k *Keys) reclaim(ctx context.Context, c *comparison, due []OrphanObject) error {
	due, err := k.unchanged(ctx, due)
	if err != nil || len(due) == 0 {
		return err
	}
	began := k.Boot.Now()
	seen, err := k.Rows.See(ctx, Seeing{due, k.Rules.Retention, len(due), false})
	if err != nil || len(seen.Condemned) == 0 {
		return err
	}
	results, err := k.Remove.Delete(inTime(ctx, k.Boot, began, orphanWithin), seen.Condemned)
	var gone []string
	why := ""
	for i, keyErr := range blob.Outcomes(seen.Condemned, results, err) {
		if blob.Gone(keyErr) {
			gone = append(gone, seen.Condemned[i])
		} else {
			why = keyErr.Error()
		}
	}
	c.add("items", int64(len(gone)))
	c.add("objects", int64(len(gone)))
	k.Events.failed(k.Collection, len(seen.Condemned)-len(gone), why)
	return errors.Join(err, k.Rows.Gone(context.WithoutCancel(ctx), gone))
}

// unchanged returns the objects that are as they were listed. Since then the application may have
// put one anew, whose row is still to come. Listings and single objects have times of different
// precision.
func (k *Keys) unchanged(ctx context.Context, listed []OrphanObject) (kept []OrphanObject, _ error) {
	for _, o := range listed {
		rest, _ := below(o.Key, k.Prefix) // listed there
		now, err := k.Store.Stat(ctx, rest)
		switch {
		case errors.Is(err, blob.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("look at %s again: %w", o.Key, err)
		case now.Size == o.Size && now.ModTime.Time().Unix() == o.Modified.Time().Unix():
			kept = append(kept, o)
		}
	}
	return kept, nil
}
