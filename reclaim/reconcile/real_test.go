package reconcile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

// place is a real backend, and how another program writes to it.
type place struct {
	store blob.Store
	plant func(key, body string)
}

func folder(t *testing.T) place {
	root := t.TempDir()
	st, err := fsblob.Open(fsblob.Options{Root: root, Create: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return place{st, func(key, body string) {
		path := filepath.Join(root, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}}
}

func service(start func(testing.TB) servers.S3) func(t *testing.T) place {
	return func(t *testing.T) place {
		at := start(t)
		bucket := at.Bucket(t)
		st, err := s3blob.Open(t.Context(), s3blob.Options{Endpoint: at.Endpoint, Region: at.Region, Bucket: bucket, AccessKey: at.Access, SecretKey: at.Secret, PathStyle: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return place{st, func(key, body string) {
			in := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)}
			if _, err := at.Client().PutObject(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}}
	}
}

// TestReal walks over real backends with a real ledger: an orphan goes, a foreign
// key stays, what is missing or cut short is named with its object.
func TestReal(t *testing.T) {
	places := map[string]func(*testing.T) place{
		"folder": folder, "gofakes3": service(servers.GoFakeS3), "versitygw": service(servers.VersityGW),
	}
	for name, open := range places {
		for mode, set := range modes {
			t.Run(name+", "+mode, func(t *testing.T) { explained(newReality(t, open(t)), set) })
		}
	}
}

// reality is a ledger beside a real backend.
type reality struct {
	*testing.T
	place
	at      *clocktest.Clock
	db      *sqlledger.DB
	id      lethe.ID // of the store
	stores  map[string]blob.Store
	pairing *pairing.Pairing
}

func newReality(t *testing.T, p place) *reality {
	t.Helper()
	r := &reality{T: t, place: p, at: clocktest.At(lethe.SystemClock{}.Now()), stores: map[string]blob.Store{"main": p.store}}
	db, err := sqlledger.Open(t.Context(), sqlledger.Memory, ledger.Options{Clock: r.at, ReadGrace: time.Minute, LateWindow: time.Hour})
	r.must(err)
	t.Cleanup(func() { _ = db.Close() })
	store, err := db.Identity(t.Context())
	r.must(err)
	r.db, r.id = db, store.ID
	r.pairing = &pairing.Pairing{Ledger: db, Stores: r.stores, Clock: r.at}
	_, err = db.AddBackend(t.Context(), ledger.Backend{ID: "main"})
	r.must(err)
	r.must(r.pairing.Advance(t.Context(), "main"))
	_, err = db.CreateBucket(t.Context(), ledger.Bucket{Name: bucket, Owner: "me"})
	r.must(err)
	return r
}

func (r *reality) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *reality) newID() lethe.ID { return lethe.RandomID(r.at.Now()) }

// put stores an object as a writer does, and returns the key of its blob.
func (r *reality) put(key, body string) string {
	r.Helper()
	sum := sha256.Sum256([]byte(body))
	digest, size, b := hex.EncodeToString(sum[:]), int64(len(body)), r.newID()
	_, err := r.db.Begin(r.Context(), ledger.Intent{ID: b, Backend: "main", Size: size})
	r.must(err)
	name := lethe.BlobKey(r.id, b)
	r.must(r.store.Put(r.Context(), name, strings.NewReader(body), size))
	_, err = r.db.Commit(r.Context(), ledger.Commit{
		Op: r.newID(), What: "put", Object: ledger.Object{Bucket: bucket, Key: key, Size: size},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: size}, Blobs: []ledger.Uploaded{{Blob: b, Size: size, Digest: digest}},
	})
	r.must(err)
	r.at.Advance(time.Second)
	return name
}

// walk walks once, and waits for the grace.
func (r *reality) walk(set func(*reconcile.Options)) map[string]int64 {
	o := reconcile.Options{Ledger: r.db, Stores: r.stores, Pairing: r.pairing, Store: r.id, Clock: r.at, NewID: r.newID, Grace: grace}
	if set(&o); o.Chunk > 0 { // two chunks: each lists 1,024 folders
		o.Chunk, o.Parallel = 8, 16
	}
	var c reclaim.Counts
	pass(r.T, reconcile.New(o), c.Add)
	r.at.Advance(grace)
	return c.Map()
}

func explained(r *reality, set func(*reconcile.Options)) {
	var blobs []string
	for i := range 12 {
		blobs = append(blobs, r.put(fmt.Sprint("k", i), fmt.Sprint("body ", i)))
	}
	orphan := lethe.BlobKey(r.id, r.newID())
	r.must(r.store.Put(r.Context(), orphan, strings.NewReader("orphan"), 6))
	r.plant("Photos/Cat 1.JPG", "theirs")
	_, err := r.store.Delete(r.Context(), []string{blobs[3]})
	r.must(err)
	r.plant(blobs[5], "cut")
	if got := r.walk(set); got[reconcile.Orphans] != 1 || got[reconcile.Foreign] != 1 || got[reconcile.Missing] != 1 || got[reconcile.WrongSize] != 1 || got[reconcile.Lost] != 2 || got[reconcile.Condemned] != 0 {
		r.Errorf("the first walk counts %v", got)
	}
	if got := r.walk(set); got[reconcile.Orphans] != 1 || got[reconcile.Condemned] != 1 || got[reconcile.Missing] != 1 {
		r.Errorf("the second walk counts %v", got)
	}
	pass(r.T, &routine.Clean{Ledger: r.db, Stores: r.stores, Store: r.id, Safety: reclaim.Safety{}.WithDefaults(), Limit: 10, Clock: r.at, Admit: r.pairing.Check}, func(string, int64) {})
	var keys []string
	r.must(r.store.List(r.Context(), "", "", func(i blob.Info) error {
		keys = append(keys, i.Key)
		return nil
	}))
	if len(keys) != 1+11+1 || slices.Contains(keys, orphan) { // an epoch, 11 of 12 blobs, and theirs
		r.Errorf("what is left is %v", keys)
	}
	list, err := r.db.Findings(r.Context(), ledger.FindingQuery{Kind: ledger.FoundMissing})
	r.must(err)
	if len(list) != 1 || !strings.HasSuffix(list[0].Detail, "lost: b/k3") {
		r.Errorf("findings are %+v", list)
	}
}

func pass(t *testing.T, r reclaim.Routine, add reclaim.Add) {
	t.Helper()
	step := r.Pass("worker")
	for more := true; more; {
		var err error
		if more, err = step(t.Context(), add); err != nil {
			t.Fatal(err)
		}
	}
}
