// Package memblob is a blob.Store in memory: complete, ordered, write-once. It
// serves as the disk of tests and of the simulation; nothing in it is durable.
package memblob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// preallocate is the greatest declared size, in bytes, for which memory is taken
// before the bytes arrive.
const preallocate = 1 << 20

// Options of a Store; the zero value is an unlimited store without a clock.
type Options struct {
	// Limit is the room in bytes; 0 is no limit. A Put beyond it is ErrFull.
	Limit int64
	// Clock stamps Info.ModTime; nil leaves it zero.
	Clock lethe.Clock
}

// Store holds blobs in memory. It is safe for concurrent use.
type Store struct {
	opt Options

	mu    sync.RWMutex
	blobs map[string]entry
	used  int64
	index index
}

// entry is never changed once it is stored: readers keep its bytes.
type entry struct {
	data []byte
	made lethe.Time
}

var (
	_ blob.Store  = (*Store)(nil)
	_ blob.Spacer = (*Store)(nil)
)

// New makes an empty store.
func New(opt Options) *Store {
	return &Store{opt: opt, blobs: map[string]entry{}}
}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	data, err := s.read(ctx, r, size)
	if err != nil {
		return fmt.Errorf("memblob: put %s: %w: %w", key, blob.ErrNotDone, err)
	}
	if err := blob.Check(ctx); err != nil {
		return fmt.Errorf("memblob: put %s: %w: %w", key, blob.ErrNotDone, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.blobs[key]; ok {
		return fmt.Errorf("memblob: put %s: %w", key, blob.ErrExist)
	}
	if !s.fits(int64(len(data))) {
		return fmt.Errorf("memblob: put %s: %w: %w", key, blob.ErrNotDone, blob.ErrFull)
	}
	s.insert(key, data)
	return nil
}

// read returns the whole body; it stops early when it cannot fit.
func (s *Store) read(ctx context.Context, r io.Reader, size int64) ([]byte, error) {
	body := blob.Exactly(ctx, r, size)
	if s.opt.Limit > 0 {
		body = io.LimitReader(body, s.opt.Limit+1)
	}
	if size <= 0 || size > preallocate || s.opt.Limit > 0 {
		return io.ReadAll(body)
	}
	data := make([]byte, size, size+1)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, err
	}
	if _, err := body.Read(data[size : size+1]); !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data, nil
}

func (s *Store) fits(n int64) bool { return s.opt.Limit <= 0 || n <= s.opt.Limit-s.used }

func (s *Store) insert(key string, data []byte) {
	s.blobs[key] = entry{data: data, made: s.now()}
	s.used += int64(len(data))
	s.index.add(key)
}

func (s *Store) now() lethe.Time {
	if s.opt.Clock == nil {
		return 0
	}
	return s.opt.Clock.Now()
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	e, err := s.lookup(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("memblob: get %s: %w", key, err)
	}
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("memblob: get %s: invalid range %d+%d", key, offset, length)
	}
	data := e.data[min(offset, int64(len(e.data))):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	e, err := s.lookup(ctx, key)
	if err != nil {
		return blob.Info{}, fmt.Errorf("memblob: stat %s: %w", key, err)
	}
	return e.info(key), nil
}

func (e entry) info(key string) blob.Info {
	return blob.Info{Key: key, Size: int64(len(e.data)), ModTime: e.made}
}

func (s *Store) lookup(ctx context.Context, key string) (entry, error) {
	if err := blob.CheckKey(key); err != nil {
		return entry{}, err
	}
	if err := ctx.Err(); err != nil {
		return entry{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.blobs[key]
	if !ok {
		return entry{}, blob.ErrNotExist
	}
	return e, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memblob: delete %d keys: %w: %w", len(keys), blob.ErrNotDone, err)
	}
	if err := blob.Check(ctx); err != nil {
		return nil, fmt.Errorf("memblob: delete %d keys: %w: %w", len(keys), blob.ErrNotDone, err)
	}
	results := make([]blob.Result, len(keys))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range keys {
		results[i] = blob.Result{Key: key, Err: s.remove(key)}
	}
	return results, nil
}

func (s *Store) remove(key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	e, ok := s.blobs[key]
	if !ok {
		return blob.ErrNotExist
	}
	delete(s.blobs, key)
	s.used -= int64(len(e.data))
	s.index.remove()
	return nil
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	for _, key := range s.keys(prefix, after) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("memblob: list %q: %w", prefix, err)
		}
		s.mu.RLock()
		e, ok := s.blobs[key]
		s.mu.RUnlock()
		if !ok {
			continue
		}
		if err := fn(e.info(key)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *Store) keys(prefix, after string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index.scan(prefix, after, func(key string) bool {
		_, ok := s.blobs[key]
		return ok
	})
}

// Free implements blob.Spacer; without a limit it is math.MaxInt64.
func (s *Store) Free(context.Context) (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.opt.Limit <= 0 {
		return math.MaxInt64, nil
	}
	return s.opt.Limit - s.used, nil
}
