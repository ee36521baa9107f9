package s3

import (
	"context"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// shelf keeps documents in memory, as another process sees them. reading, if
// set, is called between the lookup and the return.
type shelf struct {
	BucketStore
	DocumentStore
	id      lethe.ID
	docs    map[documentName][]byte
	reads   int
	reading func()
}

type documentName struct{ bucket, kind string }

func (s *shelf) Bucket(_ context.Context, bucket string) (ledger.Bucket, error) {
	return ledger.Bucket{ID: s.id, Name: bucket}, nil
}

func (s *shelf) Document(_ context.Context, bucket, kind string) ([]byte, error) {
	s.reads++
	body := s.docs[documentName{bucket, kind}]
	if s.reading != nil {
		s.reading()
	}
	return body, nil
}

func (s *shelf) PutDocument(_ context.Context, d ledger.Document) error {
	s.docs[documentName{d.Bucket, d.Kind}] = d.Body
	return nil
}

func (s *shelf) DeleteBucket(_ context.Context, bucket string, _ lethe.ID) error {
	for _, kind := range kinds {
		delete(s.docs, documentName{bucket, kind})
	}
	return nil
}

type cacheTest struct {
	*testing.T
	shelf *shelf
	clock *clocktest.Clock
	cache *DocumentCache
}

func newCacheTest(t *testing.T) *cacheTest {
	c := &cacheTest{T: t, shelf: &shelf{id: "first", docs: map[documentName][]byte{}}, clock: clocktest.At(1)}
	c.cache = NewDocumentCache(Store{Buckets: c.shelf, Documents: c.shelf})
	c.cache.clock = c.clock
	return c
}

func (c *cacheTest) reads(want string, n int) {
	c.Helper()
	got, err := c.cache.Document(c.Context(), "b", KindACL)
	if err != nil || string(got) != want || c.shelf.reads != n {
		c.Errorf("read %q, %v, asked %d times; want %q, %d times", got, err, c.shelf.reads, want, n)
	}
}

func TestDocumentsAreAskedForOnceASecond(t *testing.T) {
	c := newCacheTest(t)
	c.reads("", 1)
	c.reads("", 1)
	c.shelf.docs[documentName{"b", KindACL}] = []byte("of another process")
	c.clock.Advance(documentsFor - time.Microsecond)
	c.reads("", 1)
	c.clock.Advance(time.Microsecond)
	c.reads("of another process", 2)
}

func TestOwnChangesTakeEffectAtOnce(t *testing.T) {
	c := newCacheTest(t)
	c.reads("", 1)
	if err := c.cache.PutDocument(t.Context(), ledger.Document{Bucket: "b", Kind: KindACL, Body: []byte("own")}); err != nil {
		t.Fatal(err)
	}
	c.reads("own", 2)
	if err := c.cache.DeleteBucket(t.Context(), "b", ""); err != nil {
		t.Fatal(err)
	}
	c.reads("", 3)
}

// A document that was read before a change and returned after it is not cached.
func TestReadsThatAChangeOvertakesAreNotKept(t *testing.T) {
	c := newCacheTest(t)
	c.shelf.reading = func() {
		c.shelf.reading = nil
		if err := c.cache.PutDocument(t.Context(), ledger.Document{Bucket: "b", Kind: KindACL, Body: []byte("new")}); err != nil {
			t.Error(err)
		}
	}
	c.reads("", 1)
	c.reads("new", 2)
}

// What is cached of a bucket names it, also where another one has the name by now: whoever
// finds that one knows that the documents were not its own.
func TestDocumentsAreOfOneBucket(t *testing.T) {
	c := newCacheTest(t)
	of := func(kind string, want lethe.ID) {
		t.Helper()
		if _, got, err := c.cache.DocumentOf(t.Context(), "b", kind); err != nil || got != want {
			t.Errorf("%s is of %q, %v; want %q", kind, got, err, want)
		}
	}
	of(KindACL, "first")
	c.shelf.id = "second" // by another process
	of(KindPolicy, "first")
	c.clock.Advance(documentsFor)
	of(KindPolicy, "second")
	of(KindACL, "second")
	c.shelf.id = "third"
	c.cache.Drop("b")
	of(KindACL, "third")
}

// A bucket that is gone is forgotten within documentsFor, however often what was read of it by
// its name is kept meanwhile, as requests are refused for it.
func TestAGoneBucketIsNotKeptForLonger(t *testing.T) {
	c := newCacheTest(t)
	of := func(kind string) lethe.ID {
		_, got, err := c.cache.DocumentOf(t.Context(), "b", kind)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	of(KindACL)
	c.shelf.id = "second" // by another process
	c.clock.Advance(documentsFor - time.Microsecond)
	c.shelf.reading = func() { c.cache.Drop("b") } // by another request
	of(KindPolicy)
	c.clock.Advance(time.Microsecond)
	if got := of(KindPolicy); got != "second" {
		t.Errorf("the documents are of %q", got)
	}
}
