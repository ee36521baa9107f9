package memblob

import (
	"bytes"
	"maps"
	"slices"
)

// Len returns the number of blobs.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.blobs)
}

// Used returns the bytes stored.
func (s *Store) Used() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.used
}

// Keys returns all keys in byte order.
func (s *Store) Keys() []string { return slices.Clone(s.keys("", "")) }

// Bytes returns the bytes under the key, not to be changed; ok is false if there
// are none.
func (s *Store) Bytes(key string) (data []byte, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.blobs[key]
	return e.data, ok
}

// Set stores bytes under any key, foreign ones included, and over existing bytes,
// as bit rot does. It is for tests.
func (s *Store) Set(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.blobs[key]; ok {
		s.used -= int64(len(old.data))
	}
	s.insert(key, bytes.Clone(data))
}

// Lose removes a key, as a broken disk does. It is for tests.
func (s *Store) Lose(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.blobs[key]; ok {
		delete(s.blobs, key)
		s.used -= int64(len(e.data))
		s.index.remove()
	}
}

// Clone returns an independent copy, which shares the immutable bytes.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Store{opt: s.opt, blobs: maps.Clone(s.blobs), used: s.used}
	for key := range c.blobs {
		c.index.add(key)
	}
	return c
}
