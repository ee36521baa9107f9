package memblob_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
)

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(*testing.T) blob.Store { return memblob.New(memblob.Options{}) })
}

func TestConformanceWithLimit(t *testing.T) {
	blobtest.Run(t, func(*testing.T) blob.Store {
		return memblob.New(memblob.Options{Limit: 64 << 20, Clock: lethe.SystemClock{}})
	})
}

func TestLimit(t *testing.T) {
	s := memblob.New(memblob.Options{Limit: 100})
	put := func(key string, n int) error {
		return s.Put(t.Context(), key, bytes.NewReader(make([]byte, n)), blob.UnknownSize)
	}
	if err := put("a", 60); err != nil {
		t.Fatal(err)
	}
	if err := put("b", 41); !errors.Is(err, blob.ErrFull) || blob.Unknown(err) {
		t.Errorf("beyond the limit: %v; want ErrFull and certain", err)
	}
	if err := put("b", 1000); !errors.Is(err, blob.ErrFull) {
		t.Errorf("far beyond the limit: %v; want ErrFull", err)
	}
	if err := put("b", 40); err != nil {
		t.Errorf("up to the limit: %v", err)
	}
	if free, _ := s.Free(t.Context()); free != 0 || s.Used() != 100 {
		t.Errorf("free %d, used %d; want 0 and 100", free, s.Used())
	}
	if _, err := s.Delete(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if free, _ := s.Free(t.Context()); free != 60 {
		t.Errorf("free %d after the deletion; want 60", free)
	}
}

type clock lethe.Time

func (c clock) Now() lethe.Time { return lethe.Time(c) }

func TestModTimeIsTheClocks(t *testing.T) {
	s := memblob.New(memblob.Options{Clock: clock(42)})
	if err := s.Put(t.Context(), "a", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Stat(t.Context(), "a"); err != nil || info.ModTime != 42 {
		t.Errorf("stat: %+v, %v", info, err)
	}
}

// The methods for tests bypass the contract, and keep the totals.
func TestSetLoseClone(t *testing.T) {
	s := memblob.New(memblob.Options{})
	s.Set("Foreign Name", []byte("abc"))
	s.Set("a", []byte("1"))
	c := s.Clone()
	s.Set("a", []byte("22"))
	s.Lose("Foreign Name")
	s.Lose("Foreign Name")
	if got := s.Keys(); !slices.Equal(got, []string{"a"}) || s.Len() != 1 || s.Used() != 2 {
		t.Errorf("keys %q, %d bytes", got, s.Used())
	}
	if got := c.Keys(); !slices.Equal(got, []string{"Foreign Name", "a"}) || c.Used() != 4 {
		t.Errorf("the clone has keys %q, %d bytes", got, c.Used())
	}
	if data, ok := c.Bytes("a"); !ok || string(data) != "1" {
		t.Errorf("the clone has %q", data)
	}
}

func BenchmarkPutDelete(b *testing.B) {
	s := memblob.New(memblob.Options{})
	data := make([]byte, 1024)
	keys := make([]string, 1)
	for i := 0; b.Loop(); i++ {
		keys[0] = fmt.Sprintf("s/%02d/%08d", i%100, i)
		if err := s.Put(b.Context(), keys[0], bytes.NewReader(data), 1024); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Delete(b.Context(), keys); err != nil {
			b.Fatal(err)
		}
	}
}
