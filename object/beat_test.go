package object_test

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// reapAll claims what the reaper would, and condemns it.
func (w *world) reapAll() {
	for disk := range w.backends {
		w.reap(disk)
	}
}

func TestASlowUploadStaysAlive(t *testing.T) {
	for _, size := range []int64{100 * small, -1} {
		w := newWorld(t, nil)
		data := noise(100*small, 30)
		in := body(data, small, func(int) error {
			w.clock.Advance(minAge / 5)
			w.reapAll()
			return nil
		})
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: size})
		w.must(err)
		if beats := w.ledger.count("Beat"); beats < 90 {
			t.Errorf("%d heartbeats in 100 minutes", beats)
		}
		w.has("k", data)
		w.sound()
	}
}

func TestAReapedUploadFailsCleanly(t *testing.T) {
	w := newWorld(t, nil)
	reads := 0
	in := body(noise(1000*small, 31), small, func(n int) error {
		reads = n
		if n == 100 { // the client stalls
			w.clock.Advance(2 * minAge)
			w.reapAll()
		}
		return nil
	})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: 1000 * small})
	w.wants(err, lethe.ErrReaped)
	if reads > 110 {
		t.Errorf("went on to read %d times", reads)
	}
	w.empty()
}

// The upload went through, but the reaper took it before the commit.
func TestReapedBeforeTheCommit(t *testing.T) {
	w := newWorld(t, nil)
	w.ledger.on("Commit", func() {
		w.clock.Advance(2 * minAge)
		w.reapAll()
	})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(5*small, 32)), Size: 5 * small})
	w.wants(err, lethe.ErrReaped)
	w.empty()
}

func TestNoHeartbeatForTooLong(t *testing.T) {
	w := newWorld(t, nil)
	w.ledger.decide = func(method string) mode {
		if method == "Beat" {
			return refused
		}
		return pass
	}
	began := w.clock.Now()
	in := body(noise(100*small, 33), small, func(n int) error {
		w.clock.Advance(10 * time.Second)
		return nil
	})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: 100 * small})
	w.wants(err, lethe.ErrReaped)
	if after := w.clock.Now().Sub(began); after < minAge/2 || after > minAge/2+time.Minute {
		t.Errorf("gave up after %s", after)
	}
	w.empty()
}

// An upload of unknown size reserves its room as it grows.
func TestRoomGrowsWithAnUploadOfUnknownSize(t *testing.T) {
	w := newWorld(t, nil)
	const quota = 100 << 20
	for disk := range w.backends {
		_, err := w.db.AddBackend(w.ctx, ledger.Backend{ID: disk, Quota: quota})
		w.must(err)
	}
	sent := 0
	in := body(strings.Repeat("x", quota+1), 1<<20, func(n int) error {
		sent = n
		return nil
	})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: -1})
	w.wants(err, lethe.ErrNoRoom)
	// Buffers grow at first, so that some reads are shorter than a MiB.
	if sent > 95 {
		t.Errorf("%d reads of up to a MiB on a reservation of 64 MiB", sent)
	}
	w.empty()
}

// In production a goroutine beats while the client stalls, and ends with the
// upload.
func TestBackgroundBeatsWhileTheClientStalls(t *testing.T) {
	w := newWorld(t, func(o *object.Options) {
		o.Background = true
		o.Beat = time.Millisecond
	})
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	beats := make(chan struct{})
	var once sync.Once
	w.ledger.on("Beat", func() { once.Do(func() { close(beats) }) })
	data := noise(5*small, 34)
	in := body(data, small, func(n int) error {
		if n != 3 {
			return nil
		}
		// Time passes while the body stalls; only the goroutine can show life.
		w.clock.Advance(time.Minute)
		select {
		case <-beats:
			return nil
		case <-time.After(10 * time.Second):
			return errors.New("no heartbeat")
		}
	})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: in, Size: 5 * small})
	w.must(err)
	w.has("k", data)
}

func TestBackgroundStopsAReapedUpload(t *testing.T) {
	w := newWorld(t, func(o *object.Options) {
		o.Background = true
		o.Beat = time.Millisecond
	})
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, cut := io.Pipe()
	defer cut.Close()
	reaped := make(chan struct{})
	w.ledger.on("Beat", func() {
		<-reaped // a beat that comes before would save the upload
		cut.Close()
	})
	var reaper sync.WaitGroup
	reaper.Go(func() {
		io.WriteString(cut, noise(2*small, 35))
		w.clock.Advance(2 * minAge)
		w.reapAll()
		close(reaped)
		w.clock.Advance(time.Minute)
	})
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: r, Size: 5 * small})
	reaper.Wait()
	w.wants(err, lethe.ErrReaped)
	w.empty()
}
