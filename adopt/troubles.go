package adopt

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/blob"
)

// Troubles is how much is wrong with the rows of one collection.
type Troubles struct {
	Missing int64 // objects that something refers to, and that are gone
	Drifted int64 // contents whose count was found to be wrong
	Stuck   int64 // rows whose claim is older than Grace.Watchdog
}

// DriftShown is how long a wrong count stays on record at least, right or not: it tells
// of an application that miscounts.
const DriftShown = 24 * time.Hour

// TroubleRows is the record of what is wrong. Settle, Mark, Confirm and End write it, in
// their transactions. Each method is one transaction.
type TroubleRows interface {
	// Troubles counts what is on record, and rows that are stuck.
	Troubles(ctx context.Context) (Troubles, error)
	// Review looks again. It forgets objects that nothing refers to any more, and counts
	// that are right and were found wrong longer than DriftShown ago, up to limit of
	// those found first. It returns the other objects, up to limit of those after the
	// key; next is where to go on, empty at the end.
	Review(ctx context.Context, after string, limit int) (missing []string, next string, err error)
	// Mended forgets objects that are there again.
	Mended(ctx context.Context, keys []string) error
}

// Review looks again at what is wrong, and forgets what is right again. Of all instances
// one runs it at a time.
type Review struct {
	Collection string
	Prefix     string // of the whole keys of objects
	Rows       TroubleRows
	Store      KeyStore // keys are what follows the prefix
	Batch      int
}

// Name returns the routine's name in runs and metrics.
func (r *Review) Name() string { return "review " + r.Collection }

// Plan returns nothing: what is wrong is no backlog.
func (r *Review) Plan(context.Context) (Backlog, error) { return Backlog{}, nil }

// Pass looks at everything on record once.
func (r *Review) Pass(string) func(ctx context.Context, add func(string, int64)) (bool, error) {
	after := ""
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		missing, next, err := r.Rows.Review(ctx, after, r.Batch)
		if err != nil {
			return false, err
		}
		var there []string
		for _, key := range missing {
			rest, ok := below(key, r.Prefix)
			if !ok {
				continue
			}
			err := Lies(ctx, r.Store, rest)
			if err != nil && !errors.Is(err, blob.ErrNotExist) && !errors.Is(err, blob.ErrInvalidKey) {
				return false, err
			}
			if err == nil {
				there = append(there, key)
			}
		}
		after = next
		add("items", int64(len(there)))
		return next != "", r.Rows.Mended(ctx, there)
	}
}

// errLies ends a listing that has shown what it had to.
var errLies = errors.New("something lies there")

// Lies reports whether an object lies under a key, or below it if it ends in a slash:
// blob.ErrNotExist.
func Lies(ctx context.Context, store KeyStore, key string) error {
	if !strings.HasSuffix(key, "/") {
		_, err := store.Stat(ctx, key)
		return err
	}
	err := store.List(ctx, key, "", func(blob.Info) error { return errLies })
	if err == nil {
		return blob.ErrNotExist
	}
	if errors.Is(err, errLies) {
		return nil
	}
	return err
}
