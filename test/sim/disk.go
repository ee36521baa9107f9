package sim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// disk is a backend as actors see it: every call is an effect.
//
// What the protocol assumes of a backend is built in here: a request that was
// sent takes effect within the late window, or never. When it is sent nobody can
// know: its process may stand still for as long as it likes (overslept.go).
type disk struct {
	w  *World
	id string
	in *memblob.Store
}

func (d *disk) arrive(step Step, detail string) Fault {
	if in := d.w.inside; in != "" {
		d.w.fail(broken("%s of a backend inside of the transaction %q", step, in))
		return None
	}
	if d.w.cur == nil {
		return None
	}
	return d.w.cur.arrive(step, d.id+":"+detail)
}

// refuse is the error of a fault without effect, nil for faults with one.
func (d *disk) refuse(step Step, f Fault) (err error) {
	switch f {
	case NotDone:
		err = fmt.Errorf("sim: %s: %w", step, blob.ErrNotDone)
	case Down:
		err = fmt.Errorf("sim: %s: %w: %w", step, blob.ErrDown, blob.ErrNotDone)
	case Undone:
		err = fmt.Errorf("sim: %s: %w", step, blob.ErrUnknown)
	default:
		return nil
	}
	d.w.acted(step, f)
	return err
}

func (d *disk) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	data, err := io.ReadAll(blob.Exactly(ctx, r, size))
	if err != nil {
		return fmt.Errorf("sim: put: %w: %w", blob.ErrNotDone, err)
	}
	fault, err := d.setOut(ctx, key)
	if err != nil {
		return fmt.Errorf("sim: put: %w: %w", err, blob.ErrNotDone)
	}
	if err := d.refuse("put", fault); err != nil {
		return err
	}
	put := func() error {
		if err := d.in.Put(context.Background(), key, bytes.NewReader(data), int64(len(data))); err != nil {
			return err
		}
		delete(d.w.oracle.lost, blobID(d.w.store, key)) // its backend may have been destroyed before
		d.w.fail(d.w.oracle.landed(d.id, key))
		return nil
	}
	if fault == Late {
		d.w.later("put "+key, safety.LateWindow-time.Microsecond, func() {
			_ = put()
			d.w.acted("put", fault)
		})
		return fmt.Errorf("sim: put: %w", blob.ErrUnknown)
	}
	if fault == Partial {
		data = data[:len(data)/2]
		d.w.acted("put", fault)
		if _ = put(); d.w.isEpoch(key) {
			d.w.tampered(d.id, "has a torn epoch")
		}
		if draw(d.w.cfg.Seed, uint64(d.w.effects))%2 == 0 { // torn because its writer died
			d.w.cur.proc.die()
			panic(errCrash)
		}
		return fmt.Errorf("sim: put: torn: %w", blob.ErrUnknown)
	}
	err = put()
	return d.after("put", fault, err)
}

// after ends an effect that happened.
func (d *disk) after(step Step, fault Fault, err error) error {
	if err == nil && (fault == CrashAfter || fault == DoneError) {
		d.w.acted(step, fault)
	}
	switch {
	case fault == CrashAfter:
		d.w.cur.proc.die()
		panic(errCrash)
	case fault == DoneError && err == nil:
		return fmt.Errorf("sim: answer lost: %w", blob.ErrUnknown)
	}
	return err
}

func (d *disk) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := d.refuse("get", d.arrive("get", key)); err != nil {
		return nil, err
	}
	body, err := d.in.Get(ctx, key, offset, length)
	if d.w.isEpoch(key) {
		d.hears()
	}
	id := blobID(d.w.store, key)
	damaged := d.w.oracle.opens(id)
	if err != nil && damaged != nil {
		d.w.cur.meets(id)
	}
	if err != nil || d.w.cur == nil {
		return body, err
	}
	return &slowReader{d: d, key: key, in: body, from: offset, at: offset, upTo: end(offset, length), damaged: damaged}, nil
}

// end is where a range ends; a length below 0 is all that there is.
func end(offset, length int64) int64 {
	if length < 0 {
		return math.MaxInt64
	}
	return offset + length
}

// slowReader stops its reader before every chunk.
type slowReader struct {
	d   *disk
	key string
	in  io.ReadCloser

	from    int64   // the first byte
	at      int64   // the next byte
	upTo    int64   // where what was asked for ends
	damaged *damage // what had become of the copy when it was opened; nil: nothing
}

// chunk is the most that one read yields: small bodies come in several.
const chunk = 100

func (r *slowReader) Read(p []byte) (int, error) {
	if err := r.d.refuse("read", r.d.arrive("read", r.key)); err != nil {
		return 0, err
	}
	n, err := r.in.Read(p[:min(len(p), chunk)])
	if r.at += int64(n); r.meets(err) {
		r.d.w.cur.meets(blobID(r.d.w.store, r.key))
		r.damaged = nil
	}
	return n, err
}

// meets says that the reader has come upon what has become of the copy.
func (r *slowReader) meets(err error) bool {
	switch d := r.damaged; {
	case d == nil:
		return false
	case d.fault == Truncated:
		return err == io.EOF && r.upTo > d.from
	default:
		return r.from <= d.from && r.at > d.from
	}
}

func (r *slowReader) Close() error { return r.in.Close() }

func (d *disk) Stat(ctx context.Context, key string) (blob.Info, error) {
	if err := d.refuse("stat", d.arrive("stat", key)); err != nil {
		return blob.Info{}, err
	}
	return d.in.Stat(ctx, key)
}

func (d *disk) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	err := d.walkKeys(ctx, prefix, after, fn)
	if err == nil && d.w.isEpoch(prefix) && (len(d.w.epochs(d.id)) > 0 || d.w.misfit(d.id) == "") {
		d.hears()
	}
	return err
}

// hears notes that a process was told by an epoch, or by there being none yet, whom
// the backend belongs to.
func (d *disk) hears() {
	if a := d.w.cur; a != nil {
		a.proc.node.pairing.heard = true
	}
}

func (d *disk) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	d.w.fail(d.w.oracle.deleting(d.id, keys))
	if !d.w.isEpoch(keys[0]) {
		ended, err := d.w.underWay(d.id)
		d.w.fail(err)
		defer ended()
	}
	fault := d.arrive("unlink", fmt.Sprint(keys))
	if !d.w.isEpoch(keys[0]) {
		d.w.fail(d.w.sends(d.id, len(keys)))
	}
	d.outage(keys, fault)
	if err := d.refuse("unlink", fault); err != nil {
		return nil, err
	}
	switch fault {
	case Late:
		d.w.later(fmt.Sprint("unlink ", keys), 3*safety.LateWindow, func() {
			d.w.fail(d.w.oracle.removing(keys))
			_, _ = d.in.Delete(context.Background(), keys)
			d.w.acted("unlink", fault)
		})
		return nil, fmt.Errorf("sim: unlink: %w", blob.ErrUnknown)
	case Partial:
		return d.partial(ctx, keys)
	}
	d.w.fail(d.w.oracle.removing(keys))
	results, err := d.in.Delete(ctx, keys)
	if err = d.after("unlink", fault, err); err != nil {
		return nil, err
	}
	return results, nil
}

// partial deletes some keys and lies about others in every way that services
// have been seen to: refused, unknown though done, left out of the answer.
func (d *disk) partial(ctx context.Context, keys []string) ([]blob.Result, error) {
	var answer []blob.Result
	honest := 0
	for i, key := range keys {
		h := draw(d.w.cfg.Seed, uint64(d.w.effects), uint64(i))
		if h&1 == 0 {
			if _, err := d.in.Delete(ctx, []string{key}); err != nil {
				return nil, err
			}
		}
		switch {
		case h>>1&3 == 0:
			continue
		case h&1 == 0 && h>>1&3 != 1:
			answer = append(answer, blob.Result{Key: key})
			honest++
		default:
			answer = append(answer, blob.Result{Key: key, Err: fmt.Errorf("sim: %w", blob.ErrUnknown)})
		}
	}
	if honest < len(keys) {
		d.w.acted("unlink", Partial)
	}
	return answer, nil
}

// memory is a cache that forgets and lies: it is never authoritative.
type memory struct {
	w      *World
	values map[string][]byte
	reads  uint64
}

func (m *memory) Get(_ context.Context, key string) ([]byte, bool) {
	v, ok := m.values[key]
	m.reads++
	if h := draw(m.w.cfg.Seed, m.reads, 77); ok && !m.w.quiet && h%8 == 0 {
		return bytes.Repeat([]byte{byte(h >> 8)}, len(v)), true
	}
	return v, ok
}

func (m *memory) Put(_ context.Context, key string, value []byte, _ time.Duration) {
	m.w.fail(m.w.cur.uncached())
	m.values[key] = bytes.Clone(value)
}

func (m *memory) Drop(_ context.Context, keys ...string) {
	for _, k := range keys {
		delete(m.values, k)
	}
}

// blobID is the blob that a key names, empty if it names none.
func blobID(store lethe.ID, key string) lethe.ID {
	id, _ := lethe.ParseBlobKey(store, key)
	return id
}
