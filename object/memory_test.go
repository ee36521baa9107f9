package object_test

import (
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/object"
)

// under is a put whose body has come in part.
type under struct {
	w    *world
	body *io.PipeWriter
	data string
	done chan error
}

// begins puts data under a key, and returns when most of it was read.
func (w *world) begins(key, data string) *under {
	r, body := io.Pipe()
	u := &under{w: w, body: body, data: data[len(data)-1000:], done: make(chan error, 1)}
	go func() {
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: key, Body: r, Size: int64(len(data))})
		r.CloseWithError(err)
		u.done <- err
	}()
	_, err := io.WriteString(body, data[:len(data)-1000])
	w.must(err)
	return u
}

func (u *under) ends() {
	_, err := io.WriteString(u.body, u.data)
	u.w.must(err)
	u.w.must(u.body.Close())
	u.w.must(<-u.done)
}

// Small bodies under way hold so much memory together; those beyond are streamed, which
// begins before they have ended, and objects that are read count as well.
func TestSecurityBodiesUnderWayHoldBoundedMemory(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Small, o.BodyMemory = 1<<20, 1<<20 })
	begun := func(when string, want int) {
		t.Helper()
		if n := w.seen("begun"); n != want {
			t.Errorf("%s: %d uploads to the backend have begun, want %d", when, n, want)
		}
	}
	a, b := noise(900<<10, 1), noise(900<<10, 2)
	one := w.begins("a", a)
	begun("one body in memory", 0)
	two := w.begins("b", b)
	begun("no room for the other", 1)
	one.ends()
	two.ends()
	begun("both", 2)

	rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "a"})
	w.must(err)
	again, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "b"})
	w.must(err)
	three := w.begins("c", noise(900<<10, 3))
	begun("with an object in memory", 3)
	three.ends()
	for want, r := range map[string]*object.Reader{a: rd, b: again} {
		got, err := io.ReadAll(r.Body)
		w.must(err)
		w.must(r.Body.Close())
		if string(got) != want {
			t.Errorf("%d other bytes are read", len(got))
		}
	}
	four := w.begins("d", noise(900<<10, 4))
	begun("when all was given back", 3)
	four.ends()
	w.put("e", strings.Repeat("x", 10))
}

// What lies in the ledger is in memory while it is read, and counts.
func TestSecurityInlineBodiesCount(t *testing.T) {
	w := newWorld(t, func(o *object.Options) { o.Small, o.Inline, o.BodyMemory = 1<<20, 128<<10, 1<<20 })
	w.put("k", noise(128<<10, 1))
	rd, err := w.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: "k"})
	w.must(err)
	one := w.begins("a", noise(900<<10, 2))
	if n := w.seen("begun"); n != 1 {
		t.Errorf("beside an inline body that is read %d uploads have begun, want 1", n)
	}
	one.ends()
	w.must(rd.Body.Close())
	two := w.begins("b", noise(900<<10, 3))
	if n := w.seen("begun"); n != 1 {
		t.Errorf("once it was read %d uploads have begun, want 1", n)
	}
	two.ends()
}
