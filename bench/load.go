package bench

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
)

// Target is an S3 endpoint under load. Connections are kept alive; bodies are not
// signed, so that the client costs little.
type Target struct {
	URL            string
	Access, Secret string

	key  signingKey
	mu   sync.Mutex
	idle []*link // connections that wait for a request
}

// NewTarget makes a target.
func NewTarget(url, access, secret string) *Target {
	return &Target{URL: url, Access: access, Secret: secret}
}

// Close ends the connections.
func (t *Target) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.idle {
		_ = l.Close() // nothing is on its way
	}
	t.idle = nil
}

// Do sends one request and reads the answer to its end; it answers the number of
// bytes read. An answer other than 2xx is an error.
func (t *Target) Do(ctx context.Context, method, path string, body []byte) (int64, error) {
	return t.send(ctx, request{method: method, path: path, body: body})
}

// request is what Do sends, with more headers.
type request struct {
	method, path string
	body         []byte
	stream       io.Reader // in place of body, and how long it is
	size         int64
	headers      [][2]string
	answer       io.Writer // nil: it is only counted
}

// length is that of the body, in bytes.
func (q request) length() int64 { return int64(len(q.body)) + q.size }

func (t *Target) send(ctx context.Context, q request) (n int64, err error) {
	for again := true; ; again = false {
		l, kept, err := t.link(ctx)
		if err != nil {
			return 0, err
		}
		n, err = l.exchange(t, q)
		if kept && again && q.stream == nil && errors.Is(err, errUnanswered) {
			_ = l.Close() // the server has closed it meanwhile
			continue
		}
		if err != nil || l.ends {
			return n, errors.Join(err, l.Close())
		}
		t.mu.Lock()
		t.idle = append(t.idle, l)
		t.mu.Unlock()
		return n, nil
	}
}

// link returns a connection that was kept, or a new one.
func (t *Target) link(ctx context.Context) (l *link, kept bool, err error) {
	t.mu.Lock()
	if n := len(t.idle); n > 0 {
		l, t.idle = t.idle[n-1], t.idle[:n-1]
	}
	t.mu.Unlock()
	if l != nil {
		return l, true, nil
	}
	l, err = dial(ctx, strings.TrimPrefix(t.URL, "http://"))
	return l, false, err
}

// Load is what clients do side by side.
type Load struct {
	Clients int
	Objects int // 0: until the context ends
	Size    int
	Piece   int // bytes of each get, from all over the object; 0: all of it
	Bucket  string
	Prefix  string // of the keys
	Seed    uint64 // of the contents
	// Rate is how many requests begin in each second, whatever the answers do: what
	// waits for a client waits on the clock. 0: as many as the clients can.
	Rate float64
}

// Latencies are how long requests took.
type Latencies struct {
	All  []time.Duration // sorted
	Time time.Duration   // of all of them together, side by side
}

// Rate is requests per second.
func (l Latencies) Rate() float64 { return float64(len(l.All)) / l.Time.Seconds() }

// At is the latency that the given share of the requests, 0 to 1, does not exceed.
func (l Latencies) At(share float64) time.Duration {
	if len(l.All) == 0 {
		return 0
	}
	return l.All[min(int(share*float64(len(l.All))), len(l.All)-1)]
}

// key is the name of the i-th object.
func (l Load) key(i int64) string { return fmt.Sprintf("/%s/%s%08d", l.Bucket, l.Prefix, i) }

// Put uploads objects whose contents all differ.
func (l Load) Put(ctx context.Context, t *Target) (Latencies, error) {
	random := rand.NewChaCha8([32]byte{byte(l.Seed), 2})
	template := make([]byte, l.Size)
	_, _ = random.Read(template)
	salt := random.Uint64()
	bodies := sync.Pool{New: func() any { b := slices.Clone(template); return &b }}
	return l.each(ctx, func(ctx context.Context, i int64) error {
		body := bodies.Get().(*[]byte)
		defer bodies.Put(body)
		if len(*body) >= 16 {
			binary.LittleEndian.PutUint64(*body, uint64(i))
			binary.LittleEndian.PutUint64((*body)[8:], salt)
		}
		_, err := t.Do(ctx, http.MethodPut, l.key(i), *body)
		return err
	})
}

// Get downloads the objects that Put uploaded, of which there are n, round and
// round.
func (l Load) Get(ctx context.Context, t *Target, n int) (Latencies, error) {
	return l.each(ctx, func(ctx context.Context, i int64) error {
		want, q := int64(l.Size), request{method: http.MethodGet, path: l.key(i % int64(n))}
		if l.Piece > 0 {
			want = int64(l.Piece)
			from := i * 7_919_003 % (int64(l.Size) - want + 1)
			q.headers = [][2]string{{"Range", fmt.Sprintf("bytes=%d-%d", from, from+want-1)}}
		}
		got, err := t.send(ctx, q)
		if err == nil && got != want {
			err = fmt.Errorf("bench: got %d bytes of %d", got, want)
		}
		return err
	})
}

// Delete removes the objects that Put uploaded, of which there are n, by requests for a
// batch each. Latencies are those of requests.
func (l Load) Delete(ctx context.Context, t *Target, n, batch int) (Latencies, error) {
	l.Objects = (n + batch - 1) / batch
	return l.each(ctx, func(ctx context.Context, i int64) error {
		body := []byte("<Delete><Quiet>true</Quiet>")
		for k := i * int64(batch); k < min(int64(n), (i+1)*int64(batch)); k++ {
			body = fmt.Appendf(body, "<Object><Key>%s</Key></Object>", strings.TrimPrefix(l.key(k), "/"+l.Bucket+"/"))
		}
		return t.deleteAll(ctx, l.Bucket, append(body, "</Delete>"...))
	})
}

// deleteAll sends a DeleteObjects, whose answer must name no error.
func (t *Target) deleteAll(ctx context.Context, bucket string, body []byte) error {
	sum := md5.Sum(body)
	var answer bytes.Buffer
	_, err := t.send(ctx, request{
		method: http.MethodPost, path: "/" + bucket + "?delete=", body: body, answer: &answer,
		headers: [][2]string{{"Content-MD5", base64.StdEncoding.EncodeToString(sum[:])}},
	})
	if err == nil && bytes.Contains(answer.Bytes(), []byte("<Error>")) {
		err = fmt.Errorf("bench: delete: %s", answer.Bytes())
	}
	return err
}

// each runs do with the numbers 0, 1, 2, ... by all clients. With a rate, latencies
// count from the time at which a request should have begun.
func (l Load) each(ctx context.Context, do func(ctx context.Context, i int64) error) (Latencies, error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	lists := make([][]time.Duration, l.Clients)
	errs := make([]error, l.Clients)
	clock := lethe.Monotonic{}
	began := clock.Now()
	for c := range l.Clients {
		wg.Go(func() {
			for errs[c] == nil && ctx.Err() == nil {
				i := next.Add(1) - 1
				if l.Objects > 0 && i >= int64(l.Objects) {
					return
				}
				at := clock.Now()
				if l.Rate > 0 {
					at = began.Add(time.Duration(float64(i) / l.Rate * float64(time.Second)))
					time.Sleep(at.Sub(clock.Now()))
				}
				if errs[c] = do(context.WithoutCancel(ctx), i); errs[c] == nil {
					lists[c] = append(lists[c], clock.Now().Sub(at))
				}
			}
		})
	}
	wg.Wait()
	out := Latencies{Time: clock.Now().Sub(began), All: slices.Concat(lists...)}
	slices.Sort(out.All)
	for _, err := range errs {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
