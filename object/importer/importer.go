package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// Objects is what the importer needs of the store; *object.Store implements it.
type Objects interface {
	Head(ctx context.Context, r object.GetRequest) (ledger.Object, error)
	Put(ctx context.Context, r object.PutRequest) (object.PutResult, error)
}

// Options of an Importer. Objects, Backend, Source and Store are required.
type Options struct {
	Objects Objects
	Backend string     // name of the backend
	Source  blob.Store // the backend, with the ability blob.Foreign
	Store   lethe.ID   // this store, whose names are never imported

	// Workers is how many keys are read in parallel (default 1).
	Workers int
	// Call is called, and may wait, before each call to the backend: a page of its
	// listing (1,000 keys), or a look-up of one key. Nil: no limit.
	Call func(ctx context.Context) error
	// Bytes is called, and may wait, after bytes were read. Nil: no limit.
	Bytes func(ctx context.Context, n int64) error
}

// Request names what to import, and the resulting objects.
type Request struct {
	Prefix string // of the foreign keys; empty: all
	Bucket string
	// Strip is removed from the beginning of each key, and has to be the beginning
	// of Prefix; then Add is put before it.
	Strip, Add string
	TTL        time.Duration // of the objects; 0: the bucket's
}

// ErrRequest is wrapped for a request that contradicts itself.
var ErrRequest = errors.New("bad request for an import")

// Check refuses a request by which two keys could become one object.
func (r Request) Check() error {
	switch {
	case r.Bucket == "":
		return fmt.Errorf("%w: name the bucket into which to import", ErrRequest)
	case !strings.HasPrefix(r.Prefix, r.Strip):
		return fmt.Errorf("%w: %q is to be stripped, which is not the beginning of the prefix %q", ErrRequest, r.Strip, r.Prefix)
	case r.TTL < 0:
		return fmt.Errorf("%w: the time to live is negative", ErrRequest)
	}
	return nil
}

// Item is a foreign key, and the object that it becomes.
type Item struct {
	Source string
	Size   int64 // bytes
	// Tag is that of the bytes that were seen; empty: any bytes are accepted.
	Tag         string
	Bucket, Key string
	TTL         time.Duration
	// Refused is why it cannot be imported; empty: it can.
	Refused string
}

// Outcome is the result for an item.
type Outcome string

// The outcomes.
const (
	Imported Outcome = "imported"
	Already  Outcome = "already"  // the object is there, with these bytes
	Conflict Outcome = "conflict" // another object has its key; it stays
	Refused  Outcome = "refused"  // its name cannot be imported
	Gone     Outcome = "gone"     // there are no such bytes any more
	Changed  Outcome = "changed"  // its owner changed it since it was seen, or while it was read
	Failed   Outcome = "failed"
)

// Result is the outcome of an item, and the reason if it was not imported.
type Result struct {
	Item    Item
	Outcome Outcome
	Detail  string
	// Duplicate: its bytes existed already, as another object's.
	Duplicate bool
}

// Importer makes objects of the foreign keys of one backend.
type Importer struct {
	o Options
	f blob.Foreign
}

// New returns an importer: errors.ErrUnsupported if the backend cannot read foreign
// keys.
func New(o Options) (*Importer, error) {
	f, ok := o.Source.(blob.Foreign)
	if !ok {
		return nil, fmt.Errorf("backend %s: reading foreign keys: %w", o.Backend, errors.ErrUnsupported)
	}
	o.Workers = max(o.Workers, 1)
	if o.Call == nil {
		o.Call = func(context.Context) error { return nil }
	}
	if o.Bytes == nil {
		o.Bytes = func(context.Context, int64) error { return nil }
	}
	return &Importer{o, f}, nil
}

// perCall is how many keys one call of a listing returns, as in S3.
const perCall = 1000

// Each lists the foreign keys of a request, in byte order. It looks up no object
// and no bytes.
func (i *Importer) Each(ctx context.Context, r Request, fn func(Item) error) error {
	if err := r.Check(); err != nil {
		return err
	}
	listed := 0
	err := i.o.Call(ctx)
	if err != nil {
		return err
	}
	return i.o.Source.List(ctx, r.Prefix, "", func(info blob.Info) error {
		if listed++; listed%perCall == 0 {
			if err := i.o.Call(ctx); err != nil {
				return err
			}
		}
		// The mark of the folder itself has no name below it, and no bytes to lose.
		if i.ours(info.Key) || blob.IsMarker(info.Key) && info.Key == r.Strip && info.Size == 0 {
			return nil
		}
		return fn(i.item(r, info))
	})
}

// ours reports whether a key is a name of this store: a blob, which may be
// condemned, or its epoch.
func (i *Importer) ours(key string) bool {
	return strings.HasPrefix(key, string(i.o.Store)+"/")
}

func (i *Importer) item(r Request, info blob.Info) Item {
	out := Item{Source: info.Key, Size: info.Size, Bucket: r.Bucket, Key: r.Add + strings.TrimPrefix(info.Key, r.Strip), TTL: r.TTL}
	err := blob.CheckForeign(info.Key)
	switch {
	case out.Key == "":
		out.Refused = "nothing is left of its name"
	case err != nil:
		out.Refused = err.Error()
	case blob.IsMarker(info.Key) && info.Size > 0:
		out.Refused = "it ends in a slash, as a folder's mark does, and has bytes"
	default:
		out.Refused = i.refuse(r.Prefix, info.Key)
	}
	return out
}

// refuse excludes the blobs of another store, which may be in use, unless the
// request names that store.
func (i *Importer) refuse(prefix, key string) string {
	first, _, below := strings.Cut(key, "/")
	other, err := lethe.ParseID(first)
	if err != nil || !below {
		return ""
	}
	if _, isBlob := lethe.ParseBlobKey(other, key); !isBlob {
		return "it belongs to another store, and is no blob"
	}
	if !strings.HasPrefix(prefix, first+"/") {
		return fmt.Sprintf("it is a blob of another store; the prefix %s/ takes those", first)
	}
	return ""
}

// Run imports the keys of a request. each is called with every result, from one
// goroutine at a time. A failure of one key does not affect the others; a backend
// or a store that does not work ends the run.
func (i *Importer) Run(ctx context.Context, r Request, each func(Result)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	items := make(chan Item)
	var told sync.Mutex
	var work sync.WaitGroup
	for range i.o.Workers {
		work.Go(func() {
			for item := range items {
				res, err := i.Import(ctx, item)
				if err != nil {
					stop(err)
					continue
				}
				told.Lock()
				each(res)
				told.Unlock()
			}
		})
	}
	err := i.Each(ctx, r, func(item Item) error {
		select {
		case items <- item:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	close(items)
	work.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
