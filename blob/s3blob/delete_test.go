package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
)

// fill puts k0, k1 and so on, and returns their keys.
func fill(t *testing.T, s *Store, n int) []string {
	t.Helper()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
		if err := put(s, keys[i], 10); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func left(t *testing.T, s *Store) (keys []string) {
	t.Helper()
	err := s.List(t.Context(), "", "", func(i blob.Info) error {
		keys = append(keys, i.Key)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// edit changes a response.
func edit(change func(string) string) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			return nil, err
		}
		changed := change(string(body))
		answer.Body, answer.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
		return answer, nil
	}
}

const deletedK1 = "<Deleted><Key>k1</Key></Deleted>"

// withoutK1 removes k1 from the response.
func withoutK1(body string) string {
	from := strings.Index(body, "<Key>k1</Key>")
	begin, end := strings.LastIndex(body[:from], "<Deleted>"), from+strings.Index(body[from:], "</Deleted>")+len("</Deleted>")
	return body[:begin] + body[end:]
}

func TestAnswersThatDoNotFit(t *testing.T) {
	insert := func(what string) func(string) string {
		return func(body string) string { return strings.Replace(body, "</DeleteResult>", what+"</DeleteResult>", 1) }
	}
	key := func(err string) string { return "<Error><Key>k1</Key><Code>" + err + "</Code></Error>" }
	for _, test := range []struct {
		name   string
		change func(string) string
		k0, k1 []error // nil: deleted
		asked  int     // requests
	}{
		{"left out", withoutK1, nil, []error{blob.ErrUnknown}, deleteTries},
		{"cut off", func(b string) string { return b[:len(b)-5] }, []error{blob.ErrUnknown}, []error{blob.ErrUnknown}, deleteTries},
		{"empty", func(string) string { return "" }, []error{blob.ErrUnknown}, []error{blob.ErrUnknown}, deleteTries},
		{"a page", func(string) string { return "<html></html>" }, []error{blob.ErrUnknown}, []error{blob.ErrUnknown}, 1},
		{"200 with an error", func(string) string { return "<Error><Code>InternalError</Code></Error>" }, []error{blob.ErrUnknown}, []error{blob.ErrUnknown}, deleteTries + 2},
		{"never asked for", insert("<Deleted><Key>other</Key></Deleted>"), []error{blob.ErrUnknown}, []error{blob.ErrUnknown}, 1},
		{"two keys in one", insert("<Deleted><Key>k0</Key><Key>k1</Key></Deleted>"), []error{blob.ErrUnknown}, []error{blob.ErrUnknown}, 1},
		{"twice", insert(deletedK1), nil, nil, 1},
		{"deleted and not", insert(key("AccessDenied")), nil, []error{blob.ErrNotDone}, 1},
		{"refused", func(b string) string { return insert(key("AccessDenied"))(withoutK1(b)) }, nil, []error{blob.ErrNotDone}, 1},
		{"was not there", func(b string) string { return insert(key("NoSuchKey"))(withoutK1(b)) }, nil, []error{blob.ErrNotExist}, 1},
		{"failed for ever", func(b string) string { return insert(key("InternalError"))(withoutK1(b)) }, nil, []error{blob.ErrUnknown}, deleteTries},
		{"slow for ever", func(b string) string { return insert(key("SlowDown"))(withoutK1(b)) }, nil, []error{blob.ErrUnknown, blob.ErrDown}, deleteTries},
		{"in another order", func(b string) string { return insert(deletedK1)(withoutK1(b)) }, nil, nil, 1},
		{"goes on", func(b string) string { return b + "<DeleteResult/>" }, []error{blob.ErrUnknown}, []error{blob.ErrUnknown}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, n := faulty(t)
			keys := fill(t, s, 2)
			n.set(on("delete-objects", edit(func(b string) string {
				if strings.Contains(b, "<Key>k1</Key>") {
					return test.change(b)
				}
				return b
			})))
			results, err := s.Delete(t.Context(), keys)
			if err != nil && !errors.Is(err, blob.ErrDown) {
				t.Fatal(err)
			}
			want(t, "k0", results[0].Err, test.k0...)
			want(t, "k1", results[1].Err, test.k1...)
			for i, kinds := range [][]error{test.k0, test.k1} {
				if (results[i].Err == nil) != (kinds == nil) {
					t.Errorf("k%d: %v", i, results[i].Err)
				}
			}
			if got := n.count("delete-objects"); got > test.asked {
				t.Errorf("asked %d times; want at most %d", got, test.asked)
			}
		})
	}
}

func TestDeleteAgainUntilTheAnswerIsWhole(t *testing.T) {
	for name, fault := range map[string]func(*http.Request, func() (*http.Response, error)) (*http.Response, error){
		"cut off":       edit(func(b string) string { return b[:len(b)/2] }),
		"left out":      edit(withoutK1),
		"reset":         lost(errReset),
		"slow down":     s3Error(503, "SlowDown"),
		"bad gateway":   s3Error(502, "BadGateway"),
		"internal":      s3Error(500, "InternalError"),
		"took too long": lost(context.DeadlineExceeded),
	} {
		t.Run(name, func(t *testing.T) {
			s, n := faulty(t)
			keys := fill(t, s, 5)
			n.set(on("delete-objects", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
				if n.count("delete-objects") == 1 {
					return fault(r, pass)
				}
				return pass()
			}))
			results, err := s.Delete(t.Context(), keys)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if !blob.Gone(r.Err) {
					t.Errorf("%s: %v", r.Key, r.Err)
				}
			}
			if keys := left(t, s); len(keys) != 0 {
				t.Errorf("left: %q", keys)
			}
		})
	}
}

func TestDeleteWhileTheServiceIsDown(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(*http.Request, func() (*http.Response, error)) (*http.Response, error)
		kinds []error
		asked int
	}{
		{"refused", func(*http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errDial }, []error{blob.ErrDown, blob.ErrNotDone}, 1},
		{"denied", s3Error(403, "AccessDenied"), []error{blob.ErrDown, blob.ErrNotDone}, 1},
		{"no bucket", s3Error(404, "NoSuchBucket"), []error{blob.ErrDown, blob.ErrNotDone}, 1},
		{"to be left alone", s3Error(503, "SlowDown", "Retry-After", "600"), []error{blob.ErrDown, blob.ErrUnknown}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, n := faulty(t)
			keys := fill(t, s, 3)
			n.set(test.fault)
			results, err := s.Delete(t.Context(), keys)
			want(t, "the call", err, test.kinds...)
			for _, r := range results {
				want(t, r.Key, r.Err, test.kinds...)
			}
			if got := n.count("delete-objects"); got != test.asked {
				t.Errorf("asked %d times", got)
			}
			n.set(nil)
			if keys := left(t, s); len(keys) != 3 {
				t.Errorf("left: %q", keys)
			}
		})
	}
}

// Requests to slow down are followed: fewer keys, fewer at once, and more again.
func TestDeletePaceFollowsTheService(t *testing.T) {
	var slowest, at atomic.Int64
	slowest.Store(1 << 30)
	s, n := faulty(t, func(o *Options) {
		o.MaxBatch, o.Concurrency = 64, 4
		o.Events.Pace = func(batch, concurrency int) {
			at.Store(int64(batch * concurrency))
			slowest.Store(min(slowest.Load(), at.Load()))
		}
	})
	keys := fill(t, s, 300)
	var storm atomic.Int64
	n.set(on("delete-objects", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if storm.Add(1) <= 6 {
			return s3Error(503, "SlowDown")(r, pass)
		}
		return pass()
	}))
	began := s.o.Clock.Now()
	results, err := s.Delete(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Key, r.Err)
		}
	}
	if keys := left(t, s); len(keys) != 0 {
		t.Errorf("left: %q", keys)
	}
	if slowest.Load() >= 256 {
		t.Errorf("it never slowed down")
	}
	if s.o.Clock.Now().Sub(began) < firstPause {
		t.Error("it did not pause")
	}
}

func TestDeleteWithoutDeleteObjects(t *testing.T) {
	for name, fault := range map[string]func(*http.Request, func() (*http.Response, error)) (*http.Response, error){
		"not implemented": s3Error(501, "NotImplemented"),
		"not allowed":     s3Error(405, "MethodNotAllowed"),
		"says nothing":    edit(func(string) string { return "<DeleteResult></DeleteResult>" }),
		"says nonsense":   edit(func(string) string { return "<html>deleted</html>" }),
		"breaks off":      edit(func(b string) string { return b[:len(b)-1] }),
	} {
		t.Run(name, func(t *testing.T) {
			s, n := faulty(t)
			n.set(on("delete-objects", fault))
			if err := s.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c := s.Capabilities(); c.BatchDelete || c.Batch != 1 {
				t.Fatalf("capabilities %+v", c)
			}
			n.set(on("delete-objects", fault))
			keys := fill(t, s, 30)
			results, err := s.Delete(t.Context(), append(keys, "absent", "k0"))
			if err != nil || results[0].Err != nil || results[29].Err != nil || !errors.Is(results[31].Err, blob.ErrNotExist) {
				t.Errorf("%v, %v", results, err)
			}
			if got := left(t, s); len(got) != 0 || n.count("delete-objects") != 0 || n.count("delete") != 31 {
				t.Errorf("left: %q, %d requests", got, n.count("delete"))
			}
		})
	}
}

// Keys are deleted one by one on a service that loses the ability while it is used.
func TestDeleteObjectsGoesAway(t *testing.T) {
	s, n := faulty(t)
	keys := fill(t, s, 5)
	n.set(on("delete-objects", s3Error(501, "NotImplemented")))
	if results, err := s.Delete(t.Context(), keys); err != nil || results[4].Err != nil {
		t.Errorf("%v, %v", results, err)
	}
	if c := s.Capabilities(); c.BatchDelete || len(left(t, s)) != 0 {
		t.Errorf("%+v", c)
	}
}

func TestDeleteIsSplit(t *testing.T) {
	s, n := faulty(t, func(o *Options) { o.MaxBatch = 7 })
	keys := fill(t, s, 30)
	n.set(nil)
	if _, err := s.Delete(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	if got := n.count("delete-objects"); got != 5 || len(left(t, s)) != 0 {
		t.Errorf("%d requests", got)
	}
}

func TestDeleteSendsMD5(t *testing.T) {
	s, n := faulty(t)
	keys := fill(t, s, 3)
	n.set(on("delete-objects", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Md5") != *sumOf(body) {
			t.Errorf("Content-MD5 %q of %q, %v", r.Header.Get("Content-Md5"), body, err)
		}
		for name := range r.Header {
			if strings.HasPrefix(strings.ToLower(name), "x-amz-checksum") || strings.HasPrefix(strings.ToLower(name), "x-amz-sdk-checksum") {
				t.Errorf("%s is sent, which older services do not take", name)
			}
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		return pass()
	}))
	if results, err := s.Delete(t.Context(), keys); err != nil || results[2].Err != nil {
		t.Errorf("%v, %v", results, err)
	}
}

// hangUp is a body whose caller gives up halfway through.
type hangUp struct {
	io.Reader
	up   context.CancelFunc
	over <-chan struct{}
}

func (h hangUp) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if err == nil {
		return n, nil
	}
	h.up()
	<-h.over
	return n, context.Canceled
}

func (hangUp) Close() error { return nil }

// A caller that ends while the response is read proves nothing about how many keys
// the service can delete.
func TestDeleteIsCancelledWithinTheAnswer(t *testing.T) {
	paces, broken := 0, 0
	s, n := faulty(t, func(o *Options) {
		o.MaxBatch, o.Concurrency = 64, 4
		o.Events.Pace = func(int, int) { paces++ }
		o.Events.Protocol = func(string, error) { broken++ }
	})
	keys := fill(t, s, 8)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n.set(on("delete-objects", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err != nil {
			return nil, err
		}
		answer.Body = hangUp{io.LimitReader(answer.Body, 90), cancel, r.Context().Done()}
		return answer, nil
	}))
	results, err := s.Delete(ctx, keys)
	if !errors.Is(err, context.Canceled) || len(results) != 8 || n.count("delete-objects") != 1 {
		t.Errorf("%v, %v, %d requests", results, err, n.count("delete-objects"))
	}
	want(t, "one key", results[0].Err, blob.ErrUnknown)
	if got := limits(s.pace); got != [2]int{64, 4} || paces != 0 || broken != 0 {
		t.Errorf("the pace is %v after %d changes, and the service was blamed %d times", got, paces, broken)
	}
}

func TestDeleteIsCancelled(t *testing.T) {
	s, n := faulty(t)
	keys := fill(t, s, 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	n.set(on("delete-objects", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}))
	results, err := s.Delete(ctx, keys)
	if !errors.Is(err, context.Canceled) || len(results) != 3 || n.count("delete-objects") != 1 {
		t.Errorf("%v, %v", results, err)
	}
	want(t, "one key", results[0].Err, blob.ErrUnknown)
}

// A request without a response may yet take effect, whatever a later one returned.
func TestDeleteRemembersWhatWasNotSeen(t *testing.T) {
	for _, test := range []struct {
		name         string
		first, later func(*http.Request, func() (*http.Response, error)) (*http.Response, error)
		want         error
		gone         bool
	}{
		{"then it succeeds", lost(context.DeadlineExceeded), nil, blob.ErrLate, true},
		{"then no connection", lost(context.DeadlineExceeded), noConnection, blob.ErrUnknown, false},
		{"then it is forbidden", lost(context.DeadlineExceeded), s3Error(403, "AccessDenied"), blob.ErrUnknown, false},
		{"a gateway says so, then it succeeds", s3Error(504, "GatewayTimeout"), nil, blob.ErrLate, true},
		{"the service says so, then it succeeds", s3Error(500, "InternalError"), nil, nil, true},
		{"the service says so, then no connection", s3Error(500, "InternalError"), noConnection, blob.ErrUnknown, false},
		{"to slow down, then it succeeds", s3Error(503, "SlowDown"), nil, nil, true},
		{"no connection", noConnection, nil, blob.ErrNotDone, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, n := faulty(t)
			keys := fill(t, s, 2)
			n.set(on("delete-objects", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
				switch {
				case n.count("delete-objects") == 1:
					return test.first(r, pass)
				case test.later != nil:
					return test.later(r, pass)
				}
				return pass()
			}))
			results, _ := s.Delete(t.Context(), append(keys, keys[0]))
			for _, r := range results[:2] {
				if blob.Gone(r.Err) != test.gone || !errors.Is(r.Err, test.want) || test.gone && blob.Unknown(r.Err) {
					t.Errorf("%s: %v; want %v", r.Key, r.Err, test.want)
				}
			}
		})
	}
}

func noConnection(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return nil, errDial
}
