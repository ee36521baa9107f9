package s3blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/lethe-storage/lethe/blob"
)

// pattern is a body that shows where parts were exchanged.
func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*7 + i/251)
	}
	return data
}

func readAll(s *Store, key string, offset, length int64) ([]byte, error) {
	body, err := s.Get(context.Background(), key, offset, length)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	return data, errors.Join(err, body.Close())
}

// noUploads checks that no upload was left behind.
func noUploads(t *testing.T, s *Store) {
	t.Helper()
	if n, bytes, err := s.SweepUnfinished(t.Context(), math.MaxInt64); n != 0 || err != nil {
		t.Errorf("%d uploads of %d bytes were left behind, %v", n, bytes, err)
	}
}

func TestPartsAroundTheirSize(t *testing.T) {
	s, n := faulty(t)
	for i, length := range []int{999, 1000, 1001, 1999, 2000, 2001, 12345} {
		n.set(nil)
		for j, declared := range []int64{int64(length), blob.UnknownSize} {
			key, data := fmt.Sprintf("k%d%d", i, j), pattern(length)
			if err := s.Put(t.Context(), key, iotest.HalfReader(bytes.NewReader(data)), declared); err != nil {
				t.Fatal(err)
			}
			if got, err := readAll(s, key, 0, -1); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes come back as %d, %v", length, len(got), err)
			}
			if err := s.Put(t.Context(), key, bytes.NewReader(data), declared); !errors.Is(err, blob.ErrExist) {
				t.Errorf("once more: %v", err)
			}
		}
		if parts, wanted := n.count("part"), (length+999)/1000*2; length > 1000 && parts != wanted || length <= 1000 && parts != 0 {
			t.Errorf("%d bytes went by %d parts, want %d", length, parts, wanted)
		}
	}
	noUploads(t, s)
}

func TestUploadThatFailsLeavesNothing(t *testing.T) {
	broken := errors.New("the client went away")
	for _, test := range []struct {
		name  string
		fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)
		body  io.Reader
		kinds []error
	}{
		{"create fails", on("create", s3Error(503, "SlowDown")), bytes.NewReader(pattern(5000)), []error{blob.ErrNotDone, blob.ErrDown}},
		{"parts fail", on("part", s3Error(403, "AccessDenied")), bytes.NewReader(pattern(5000)), []error{blob.ErrNotDone, blob.ErrDown}},
		{"parts fail again and again", on("part", lost(errReset)), bytes.NewReader(pattern(5000)), []error{blob.ErrNotDone, blob.ErrDown}},
		{"body fails", nil, io.MultiReader(bytes.NewReader(pattern(2500)), iotest.ErrReader(broken)), []error{blob.ErrNotDone}},
		{"body is cut", nil, io.MultiReader(bytes.NewReader(pattern(2500)), iotest.ErrReader(io.ErrUnexpectedEOF)), []error{blob.ErrNotDone}},
		{"body is short", nil, bytes.NewReader(pattern(4999)), []error{blob.ErrNotDone}},
		{"body is long", nil, bytes.NewReader(pattern(5001)), []error{blob.ErrNotDone}},
		{"complete is refused", on("complete", s3Error(400, "InvalidPart")), bytes.NewReader(pattern(5000)), []error{blob.ErrNotDone}},
		{"complete finds another", on("complete", s3Error(412, "PreconditionFailed")), bytes.NewReader(pattern(5000)), []error{blob.ErrExist}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, n := faulty(t)
			n.set(test.fault)
			want(t, "put", s.Put(t.Context(), "a", test.body, 5000), test.kinds...)
			n.set(nil)
			if got := size(t, s, "a"); got != -1 {
				t.Errorf("%d bytes lie there", got)
			}
			noUploads(t, s)
		})
	}
}

func TestCancelledUploadLeavesNothing(t *testing.T) {
	s, _ := faulty(t)
	ctx, cancel := context.WithCancel(t.Context())
	body := io.MultiReader(bytes.NewReader(pattern(2500)), readerFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, "more"), nil
	}))
	err := s.Put(ctx, "a", body, blob.UnknownSize)
	if want(t, "put", err, blob.ErrNotDone); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := size(t, s, "a"); got != -1 {
		t.Errorf("%d bytes lie there", got)
	}
	noUploads(t, s)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A part that got lost is sent again: it is invisible before the end.
func TestPartsAreSentAgain(t *testing.T) {
	s, n := faulty(t)
	n.set(on("part", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if n.count("part")%3 == 1 {
			return lost(errReset)(r, pass)
		}
		return pass()
	}))
	data := pattern(3500)
	if err := s.Put(t.Context(), "a", bytes.NewReader(data), 3500); err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(s, "a", 0, -1); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestCompletionWithoutAClearAnswer(t *testing.T) {
	said := "<Error><Code>InternalError</Code><Message>try again</Message></Error>"
	once := func(fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)) func(*network) {
		return func(n *network) {
			n.set(on("complete", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
				if n.count("complete") == 1 {
					return fault(r, pass)
				}
				return pass()
			}))
		}
	}
	always := func(fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)) func(*network) {
		return func(n *network) { n.set(on("complete", fault)) }
	}
	ok200 := func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return says(r, 200, said)
	}
	for _, test := range []struct {
		name  string
		set   func(*network)
		kinds []error
		there int64
	}{
		{"done, answer lost", once(lost(errReset)), nil, 5000},
		{"done, took too long", once(lost(context.DeadlineExceeded)), nil, 5000},
		{"200 with an error, then done", once(ok200), nil, 5000},
		{"200 with an error, for ever", always(ok200), []error{blob.ErrUnknown}, -1},
		{"503 for ever", always(s3Error(503, "SlowDown")), []error{blob.ErrUnknown, blob.ErrDown}, -1},
		{"lost, then the upload is gone", func(n *network) {
			n.set(on("complete", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
				if n.count("complete") == 1 {
					return nil, errReset
				}
				return s3Error(404, "NoSuchUpload")(r, pass)
			}))
		}, []error{blob.ErrUnknown, blob.ErrDown}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, n := faulty(t)
			test.set(n)
			err := s.Put(t.Context(), "a", bytes.NewReader(pattern(5000)), 5000)
			if want(t, "put", err, test.kinds...); (err == nil) != (test.kinds == nil) {
				t.Errorf("error %v", err)
			}
			n.set(nil)
			if got := size(t, s, "a"); got != test.there {
				t.Errorf("%d bytes lie there; want %d", got, test.there)
			}
			noUploads(t, s)
		})
	}
}

// Many Puts share a memory that holds one part.
func TestPutsShareTheMemory(t *testing.T) {
	s, _ := faulty(t, func(o *Options) { o.Memory = 1000 })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			data := pattern(2000 + i*500)
			key := fmt.Sprintf("k%d", i)
			if err := s.Put(t.Context(), key, bytes.NewReader(data), int64(len(data))); err != nil {
				t.Error(err)
			}
			if got, err := readAll(s, key, 0, -1); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes, %v", key, len(got), err)
			}
		})
	}
	wg.Wait()
	if !s.memory.TryAcquire(1000) {
		t.Error("memory is still held")
	}
}

func TestSweepAbortsWhatNobodySends(t *testing.T) {
	s, n := faulty(t, func(o *Options) { o.Prefix = "p/" })
	n.set(func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		switch operation(r) {
		case "abort", "complete":
			return nil, errDial
		}
		return pass()
	})
	for i := range 3 {
		_ = s.Put(t.Context(), fmt.Sprintf("k%d", i), bytes.NewReader(pattern(2500)), 2500)
	}
	n.set(nil)
	if swept, _, err := s.SweepUnfinished(t.Context(), 1); swept != 0 || err != nil {
		t.Errorf("young ones: %d, %v", swept, err)
	}
	during := readerFunc(func([]byte) (int, error) {
		if swept, bytes, err := s.SweepUnfinished(context.Background(), math.MaxInt64); swept != 3 || bytes != 7500 || err != nil {
			t.Errorf("swept %d, %d bytes, %v", swept, bytes, err)
		}
		return 0, io.EOF
	})
	if err := s.Put(t.Context(), "alive", io.MultiReader(bytes.NewReader(pattern(2500)), during), 2500); err != nil {
		t.Errorf("an upload under way: %v", err)
	}
	if got := size(t, s, "alive"); got != 2500 {
		t.Errorf("%d bytes", got)
	}
	noUploads(t, s)
}

func TestPartSizeGrows(t *testing.T) {
	s := &Store{o: Options{PartSize: 16 << 20}}
	for _, test := range []struct{ size, want int64 }{
		{-1, 16 << 20}, {0, 16 << 20}, {1 << 30, 16 << 20}, {160_000 << 20, 16 << 20}, {1 << 40, 109_951_163},
	} {
		if got := s.partSize(test.size); got != test.want || got*maxParts < test.size {
			t.Errorf("%d bytes: parts of %d; want %d", test.size, got, test.want)
		}
	}
}
