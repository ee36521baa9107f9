package object_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/object"
)

// openExample opens a store in memory with the bucket "first".
func openExample(ctx context.Context, bytes blob.Store) (*object.Store, error) {
	db := memledger.New(ledger.Options{Clock: lethe.SystemClock{}})
	self, err := db.Identity(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := db.AddBackend(ctx, ledger.Backend{ID: "main"}); err != nil {
		return nil, err
	}
	if _, err := db.CreateBucket(ctx, ledger.Bucket{Name: "first", Owner: "me"}); err != nil {
		return nil, err
	}
	return object.New(object.Options{Ledger: object.Ledger{
		Buckets: db, Documents: db, Rules: db, Holds: db,
		Objects: db, Reads: db, Intents: db, Copies: db, Uploads: db, Trash: db,
	}, Backends: map[string]blob.Store{"main": bytes}, StoreID: self.ID})
}

// Two objects with equal bytes share one blob, and live and end apart.
func ExampleStore() {
	ctx := context.Background()
	bytes := memblob.New(memblob.Options{})
	store, err := openExample(ctx, bytes)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"a", "b"} {
		res, err := store.Put(ctx, object.PutRequest{Bucket: "first", Key: key, Body: strings.NewReader("hello"), Size: 5})
		fmt.Println("put", key, "duplicate:", res.Duplicate, err)
	}
	if _, err := store.Delete(ctx, object.DeleteRequest{Bucket: "first", Items: []ledger.DeleteItem{{Key: "a"}}}); err != nil {
		fmt.Println(err)
	}
	_, err = store.Get(ctx, object.GetRequest{Bucket: "first", Key: "a"})
	fmt.Println("a is gone:", errors.Is(err, lethe.ErrNoSuchKey))

	r, err := store.Get(ctx, object.GetRequest{Bucket: "first", Key: "b"})
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := io.ReadAll(r.Body)
	fmt.Printf("b is %q %v\n", body, errors.Join(err, r.Body.Close()))
	blobs := 0
	err = bytes.List(ctx, "", "", func(blob.Info) error { blobs++; return nil })
	fmt.Println("blobs:", blobs, err)
	// Output:
	// put a duplicate: false <nil>
	// put b duplicate: true <nil>
	// a is gone: true
	// b is "hello" <nil>
	// blobs: 1 <nil>
}
