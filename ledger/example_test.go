package ledger_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// A write says what has to lie under its key. Both ledgers decide by this function, in
// the transaction that writes.
func ExamplePrecondition_Holds() {
	create := ledger.Precondition{IfNoneMatch: "*"}
	old := &ledger.Object{ID: "v1", ETag: "5d41402abc4b2a76b9719d911017c592"}

	fmt.Println("nothing there:", create.Holds(nil))
	fmt.Println("something there:", create.Holds(old))
	fmt.Println("that version:", ledger.Precondition{IfMatch: old.ETag}.Holds(old))
	// Output:
	// nothing there: <nil>
	// something there: the key has version v1: precondition failed
	// that version: <nil>
}

// The client's wish counts first, then the default; the bucket's longest life bounds both.
func ExampleBucket_EndOf() {
	bucket := ledger.Bucket{Name: "builds", BucketSettings: ledger.BucketSettings{MaxTTL: 7 * 24 * time.Hour}}
	now := lethe.Time(0)

	end, _ := bucket.EndOf(now, ledger.TTLChange{TTL: time.Hour}, 0)
	fmt.Println("wish:", end.Sub(now))
	end, _ = bucket.EndOf(now, ledger.TTLChange{}, 24*time.Hour)
	fmt.Println("default:", end.Sub(now))
	end, _ = bucket.EndOf(now, ledger.TTLChange{}, 0)
	fmt.Println("neither:", end.Sub(now))
	_, err := bucket.EndOf(now, ledger.TTLChange{TTL: 30 * 24 * time.Hour}, 0)
	fmt.Println("too long:", errors.Is(err, lethe.ErrInvalidTTL))
	// Output:
	// wish: 1h0m0s
	// default: 24h0m0s
	// neither: 168h0m0s
	// too long: true
}
