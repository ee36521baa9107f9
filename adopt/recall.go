package adopt

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe/blob"
)

// A database that was restored from a backup has rows again whose objects were moved since, and
// no record of that. What lies below the prefix of the quarantine is found by listing it.

// recallNamed records the copies without a record whose objects something refers to. Others may
// be of another description: they stay.
func (q *Quarantine) recallNamed(ctx context.Context) (found int, err error) {
	store, ok := q.Copies.(Lister)
	if !ok {
		return 0, nil
	}
	var copies []FoundObject
	record := func() error {
		n, err := q.Rows.Found(ctx, copies, q.terms(), false)
		found, copies = found+n, copies[:0]
		return err
	}
	err = store.List(ctx, q.Prefix, "", func(i blob.Info) error {
		if q.Has(i.Key) {
			copies = append(copies, q.copyOf(i.Key, i.Size))
		}
		if len(copies) < max(1, q.Batch) {
			return nil
		}
		return record()
	})
	if err == nil && len(copies) > 0 {
		err = record()
	}
	if err != nil {
		err = fmt.Errorf("look for copies without a record: %w", err)
	}
	return found, err
}

// recall records the copy of an object, and reports whether there is one.
func (q *Quarantine) recall(ctx context.Context, key string) (bool, error) {
	if !q.Has(key) {
		return false, nil
	}
	copied, err := q.Copies.StatForeign(ctx, key)
	if errors.Is(err, blob.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		_, err = q.Rows.Found(ctx, []FoundObject{q.copyOf(key, copied.Size)}, q.terms(), true)
	}
	return err == nil, err
}

func (q *Quarantine) copyOf(key string, size int64) FoundObject {
	return FoundObject{Key: key, Copy: q.Into + key, Size: size}
}

func (q *Quarantine) terms() Terms { return Terms{q.Retention, q.Grace.Landed()} }
