package adopt

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/blob"
)

// Troubles counts what is wrong with the rows of one collection.
type Troubles struct {
	Missing int64 // missing objects that something refers to
	Drifted int64 // contents whose count was wrong
	Stuck   int64 // rows whose claim is older than Grace.Watchdog
}

// DriftShown is how long a wrong count stays recorded at least, even after its
// repair: it shows that an application miscounts.
const DriftShown = 24 * time.Hour

// TroubleRows is the record of what is wrong. Settle, Mark, Confirm and End
// write it in their transactions. Each method is one transaction.
type TroubleRows interface {
	// Troubles counts what is recorded, and rows that are stuck.
	Troubles(ctx context.Context) (Troubles, error)
	// Review checks again. It forgets objects that are not referenced any more,
	// and repaired counts after DriftShown, up to limit of the oldest. It
	// returns the other objects, up to limit after the key; next is the key to
	// continue at, empty at the end.
	Review(ctx context.Context, after string, limit int) (missing []string, next string, err error)
	// Mended forgets objects that exist again.
	Mended(ctx context.Context, keys []string) error
}

// Review checks the record of what is wrong, and forgets what is repaired. At
// most one instance runs it at a time.
type Review struct {
	Collection string
	Prefix     string // of the whole keys of objects
	Rows       TroubleRows
	Store      KeyStore // keys exclude the prefix
	Batch      int
}

// Name returns the routine's name in runs and metrics.
func (r *Review) Name() string { return "review " + r.Collection }

// Plan returns nothing: troubles are not a backlog.
func (r *Review) Plan(context.Context) (Backlog, error) { return Backlog{}, nil }

// Pass checks the whole record once.
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
			if err != nil && !blob.Absent(err) {
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

// errLies ends a listing at its first object.
var errLies = errors.New("something lies there")

// Lies looks for an object with a key, or below it if it ends in a slash. It
// fails with blob.ErrNotExist.
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
