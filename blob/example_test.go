package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// Keys are written once. A delete reports on every key by itself.
func ExampleStore() {
	ctx := context.Background()
	var store blob.Store = memblob.New(memblob.Options{})

	if err := store.Put(ctx, "a", strings.NewReader("hello"), 5); err != nil {
		fmt.Println(err)
	}
	err := store.Put(ctx, "a", strings.NewReader("other"), 5)
	fmt.Println("written twice:", errors.Is(err, blob.ErrExist))

	body, err := store.Get(ctx, "a", 1, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	part, err := io.ReadAll(body)
	fmt.Printf("read: %s %v\n", part, errors.Join(err, body.Close()))

	err = store.List(ctx, "", "", func(i blob.Info) error {
		fmt.Println("listed:", i.Key, i.Size)
		return nil
	})
	results, deleted := store.Delete(ctx, []string{"a", "b"})
	fmt.Println("deleted:", results[0].Err, errors.Is(results[1].Err, blob.ErrNotExist), errors.Join(err, deleted))
	// Output:
	// written twice: true
	// read: ell <nil>
	// listed: a 5
	// deleted: <nil> true <nil>
}
