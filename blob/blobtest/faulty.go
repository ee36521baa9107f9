package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Faulty is a store whose calls have the faults that a function decides. It has the
// optional abilities of the underlying store.
type Faulty struct {
	inner  blob.Store
	decide func(Call) Fault

	mu    sync.Mutex
	calls int64
	late  []*Pending
}

var (
	_ blob.Store      = (*Faulty)(nil)
	_ blob.Unfinished = (*Faulty)(nil)
	_ blob.Spacer     = (*Faulty)(nil)
)

// NewFaulty wraps inner. decide is called once per call of a method of
// blob.Store, possibly from several goroutines at once.
func NewFaulty(inner blob.Store, decide func(Call) Fault) *Faulty {
	return &Faulty{inner: inner, decide: decide}
}

// Pending is an effect that has not landed yet.
type Pending struct {
	Call   Call
	effect func(context.Context) error
	once   sync.Once
	err    error
}

// Release lets the effect happen, once, and returns the result of the underlying
// store, which no caller receives.
func (p *Pending) Release(ctx context.Context) error {
	p.once.Do(func() { p.err = p.effect(ctx) })
	return p.err
}

// Late returns the effects that have not landed yet and forgets them. The caller
// releases each of them, or never does.
func (f *Faulty) Late() []*Pending {
	f.mu.Lock()
	defer f.mu.Unlock()
	late := f.late
	f.late = nil
	return late
}

// begin numbers the call, decides its fault, and waits if it is slow.
func (f *Faulty) begin(ctx context.Context, call Call) (Call, Fault, error) {
	f.mu.Lock()
	f.calls++
	call.N = f.calls
	f.mu.Unlock()
	fault := f.decide(call)
	if fault.Wait == nil {
		return call, fault, nil
	}
	select {
	case <-fault.Wait:
		return call, fault, nil
	case <-ctx.Done():
		return call, fault, fault.error(call, blob.ErrNotDone, ctx.Err())
	}
}

func (f *Faulty) postpone(call Call, effect func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, &Pending{Call: call, effect: effect})
}

// Put implements blob.Store.
func (f *Faulty) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	call, fault, err := f.begin(ctx, Call{Op: OpPut, Keys: []string{key}, Size: size})
	if err != nil {
		return err
	}
	switch fault.Kind {
	case None, Disorder:
		return f.inner.Put(ctx, key, r, size)
	case DoneError:
		if err := f.inner.Put(ctx, key, r, size); err != nil {
			return err
		}
	case Late:
		data, err := io.ReadAll(blob.Exactly(ctx, r, size))
		if err != nil {
			return fmt.Errorf("put %s: %w: %w", key, blob.ErrNotDone, err)
		}
		f.postpone(call, func(ctx context.Context) error {
			return f.inner.Put(ctx, key, bytes.NewReader(data), int64(len(data)))
		})
	}
	return fault.failure(call)
}

// Get implements blob.Store.
func (f *Faulty) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	call, fault, err := f.begin(ctx, Call{Op: OpGet, Keys: []string{key}})
	switch {
	case err != nil:
		return nil, err
	case fault.Kind == None, fault.Kind == Disorder:
		return f.inner.Get(ctx, key, offset, length)
	case fault.Kind != Partial:
		return nil, fault.failure(call)
	}
	rc, err := f.inner.Get(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	return &broken{ReadCloser: rc, left: fault.Keep, err: fault.failure(call)}, nil
}

// broken is a body that ends early.
type broken struct {
	io.ReadCloser
	left int64
	err  error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// Stat implements blob.Store.
func (f *Faulty) Stat(ctx context.Context, key string) (blob.Info, error) {
	call, fault, err := f.begin(ctx, Call{Op: OpStat, Keys: []string{key}})
	switch {
	case err != nil:
		return blob.Info{}, err
	case fault.Kind == None, fault.Kind == Disorder:
		return f.inner.Stat(ctx, key)
	}
	return blob.Info{}, fault.failure(call)
}

// Delete implements blob.Store.
func (f *Faulty) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	call, fault, err := f.begin(ctx, Call{Op: OpDelete, Keys: keys})
	if err != nil {
		return nil, err
	}
	switch fault.Kind {
	case None, Disorder:
		return f.inner.Delete(ctx, keys)
	case Partial:
		return f.deletePart(ctx, call, fault)
	case DoneError:
		if _, err := f.inner.Delete(ctx, keys); err != nil {
			return nil, err
		}
	case Late:
		keys = append([]string(nil), keys...)
		f.postpone(call, func(ctx context.Context) error {
			_, err := f.inner.Delete(ctx, keys)
			return err
		})
	}
	return nil, fault.failure(call)
}

// deletePart deletes some of the keys, and returns Results for some of them.
func (f *Faulty) deletePart(ctx context.Context, call Call, fault Fault) ([]blob.Result, error) {
	outcomes := make([]Outcome, len(call.Keys))
	var wanted []string
	for i, key := range call.Keys {
		outcomes[i] = KeyRefused
		if fault.Key != nil {
			outcomes[i] = fault.Key(i, key)
		}
		if outcomes[i].deletes() {
			wanted = append(wanted, key)
		}
	}
	done, err := f.inner.Delete(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var results []blob.Result
	for i, key := range call.Keys {
		result := blob.Result{Key: key}
		if outcomes[i].deletes() {
			result, done = done[0], done[1:]
		}
		switch outcomes[i] {
		case KeyRefused:
			result.Err = fault.error(call, blob.ErrNotDone)
		case KeyUnknown, KeyDoneError:
			result.Err = fault.error(call, blob.ErrUnknown)
		}
		if outcomes[i].answers() {
			results = append(results, result)
		}
	}
	return results, nil
}

// List implements blob.Store.
func (f *Faulty) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	call, fault, err := f.begin(ctx, Call{Op: OpList, Keys: []string{prefix}})
	if err != nil {
		return err
	}
	switch fault.Kind {
	case None:
		return f.inner.List(ctx, prefix, after, fn)
	case Disorder:
		return disordered(fn, func(fn func(blob.Info) error) error {
			return f.inner.List(ctx, prefix, after, fn)
		})
	case Partial:
		left := fault.Keep
		err := f.inner.List(ctx, prefix, after, func(info blob.Info) error {
			if left--; left < 0 {
				return fault.failure(call)
			}
			return fn(info)
		})
		if err != nil {
			return err
		}
	}
	return fault.failure(call)
}

// disordered passes the second entry of a walk before its first.
func disordered(fn func(blob.Info) error, walk func(func(blob.Info) error) error) error {
	var first *blob.Info
	n := 0
	err := walk(func(info blob.Info) error {
		n++
		if n == 1 {
			first = &info
			return nil
		}
		err := fn(info)
		if first != nil && err == nil {
			err = fn(*first)
			first = nil
		}
		return err
	})
	if err == nil && first != nil {
		return fn(*first)
	}
	return err
}

// SweepUnfinished implements blob.Unfinished by the underlying store.
func (f *Faulty) SweepUnfinished(ctx context.Context, before lethe.Time) (int, int64, error) {
	return sweep(ctx, f.inner, before)
}

// Free implements blob.Spacer by the underlying store.
func (f *Faulty) Free(ctx context.Context) (int64, error) { return free(ctx, f.inner) }

func sweep(ctx context.Context, s blob.Store, before lethe.Time) (int, int64, error) {
	if u, ok := s.(blob.Unfinished); ok {
		return u.SweepUnfinished(ctx, before)
	}
	return 0, 0, errors.ErrUnsupported
}

func free(ctx context.Context, s blob.Store) (int64, error) {
	if sp, ok := s.(blob.Spacer); ok {
		return sp.Free(ctx)
	}
	return 0, errors.ErrUnsupported
}
