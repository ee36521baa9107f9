package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe/blob"
)

// A database that was restored from a backup has rows again whose objects were moved since, and
// no record of that. What lies below the prefix of the quarantine is found by listing it.

// recallBatches is how many batches of copies one step looks at: some services list all before
// them again.
const recallBatches = 10

// recallNamed looks at the next copies after one of them, and records those without a record whose
// objects something refers to. Others may be of another description: they stay. It returns how
// many it recorded, and the last it looked at, empty at the end.
func (q *Quarantine) recallNamed(ctx context.Context, after string) (found int, last string, err error) {
	store, ok := q.Copies.(Lister)
	if !ok {
		return 0, "", nil
	}
	var copies []FoundObject
	err = store.List(ctx, q.Prefix, after, func(i blob.Info) error {
		if q.Has(i.Key) {
			copies = append(copies, q.copyOf(i.Key, i.Size))
		}
		if len(copies) < recallBatches*max(1, q.Batch) {
			return nil
		}
		last = i.Key
		return errPage
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	for batch := range slices.Chunk(copies, max(1, q.Batch)) {
		if err != nil {
			break
		}
		var n int
		n, err = q.Rows.Found(ctx, batch, q.terms(), false)
		found += n
	}
	if err != nil {
		err = fmt.Errorf("look for copies without a record: %w", err)
	}
	return found, last, err
}

// recallOne records the copy of an object, and reports whether there is one.
func (q *Quarantine) recallOne(ctx context.Context, key string) (bool, error) {
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
