package blobtest

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

// Copies tests that the stores that open returns, which are empty, keep the
// contract of blob.Copier.
func Copies(t *testing.T, open func(t *testing.T) (blob.Store, Planter)) {
	s, plant := open(t)
	f, ok := s.(blob.Copier)
	if !ok {
		t.Fatal("the store does not copy")
	}
	const from, to = "Größe 1+2 %41&?#=~!'()*.JPG", "kept/a b%2F+"
	plant(t, from, "first")
	seen, err := f.StatForeign(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	holds := func(want string) {
		t.Helper()
		if got := readForeign(t, f, to); got != want {
			t.Errorf("the copy holds %q, want %q", got, want)
		}
	}
	refused := func(what string, ctx context.Context, seen blob.ForeignInfo, fresh bool, want error) {
		t.Helper()
		if err := f.CopyForeign(ctx, f, seen, to, fresh); !errors.Is(err, want) || blob.Unknown(err) {
			t.Errorf("%s: %v, want %v, and certain", what, err, want)
		}
	}
	no := errors.New("no")
	refused("the check refuses", blob.WithCheck(t.Context(), func() error { return no }), seen, true, no)
	if err := f.CopyForeign(t.Context(), f, seen, to, true); err != nil {
		t.Fatal(err)
	}
	holds("first")
	refused("the key is taken", t.Context(), seen, true, blob.ErrExist)
	plant(t, from, "second, longer")
	refused("the source was changed", t.Context(), seen, false, blob.ErrChanged)
	holds("first")
	if seen, err = f.StatForeign(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	if err := f.CopyForeign(t.Context(), f, seen, to, false); err != nil {
		t.Fatal(err)
	}
	holds("second, longer")
	if _, err := s.Delete(t.Context(), []string{from}); err != nil {
		t.Fatal(err)
	}
	refused("the source is absent", t.Context(), seen, false, blob.ErrNotExist)
	holds("second, longer")
}

// readForeign returns the bytes under a key.
func readForeign(t *testing.T, f blob.Foreign, key string) string {
	t.Helper()
	info, err := f.StatForeign(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	rd, err := f.OpenForeign(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(rd)
	if err := errors.Join(err, rd.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
